#!/usr/bin/env bash
# Fifty clients at once, twice; then SIGINT must end the server with its summary.
#   run-echo_server.sh PATH-OF-ECHO_SERVER
# EXS_TEST_ADDRESS: an address of this machine to run on in place of 127.0.0.1.
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
address=${EXS_TEST_ADDRESS:-127.0.0.1}
client=$(dirname "$1")/echo_client

exec {output}< <(exec "$1" -a "$address" -p 0)
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r line <&"$output"
port=${line##* }

"$client" -a "$address" -p "$port" -c 50 -m 20 -s 512
"$client" -a "$address" -p "$port" -c 50 -m 5 -s 40000

kill -INT "$server"
read -r summary <&"$output"
wait "$server"
echo "server: $summary"
# The server may not have noticed yet that the last clients are gone.
[[ $summary =~ ^(9[0-9]|100)" clients served, 0 failed, 1250 messages echoed"$ ]]
