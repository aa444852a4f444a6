#!/usr/bin/env bash
# The test of uv_server, on the server that does the same with asio.
#   run-asio_server.sh PATH-OF-ASIO_SERVER
# SPDX-License-Identifier: BSD-2-Clause
exec "$(dirname "$0")/run-uv_server.sh" "$1"
