#!/usr/bin/env bash
# Every block is read once and every word of it checked.
#   run-double_buffer.sh PATH-OF-DOUBLE_BUFFER
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
[[ $("$1") == "200 blocks of 524288 bytes, read 200 times" ]]
