#!/usr/bin/env bash
# Two hundred clients at once, twice; then SIGINT must end the server with its summary.
#   run-request_server.sh PATH-OF-REQUEST_SERVER
# EXS_TEST_ADDRESS: an address of this machine to run on in place of 127.0.0.1.
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
address=${EXS_TEST_ADDRESS:-127.0.0.1}
load=$(dirname "$1")/request_load

exec {output}< <(exec "$1" 0 "$address")
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r line <&"$output"
port=${line##* }

"$load" -a "$address" -p "$port" -c 200 -m 20
"$load" -a "$address" -p "$port" -c 200 -m 5

kill -INT "$server"
read -r summary <&"$output"
wait "$server"
echo "server: $summary"
[[ $summary == "400 clients served, 0 failed, 5000 requests answered" ]]
