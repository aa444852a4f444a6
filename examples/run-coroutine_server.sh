#!/usr/bin/env bash
# The load of request_server on the server of coroutines: two hundred clients at once, twice, every reply checked;
# then SIGINT must end it with its summary.
#   run-coroutine_server.sh PATH-OF-COROUTINE_SERVER
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
load=$(dirname "$1")/request_load

exec {output}< <(exec "$1" 0)
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r line <&"$output"
port=${line##* }

"$load" -p "$port" -c 200 -m 20
"$load" -p "$port" -c 200 -m 5

kill -INT "$server"
read -r summary <&"$output"
wait "$server"
echo "server: $summary"
[[ $summary == "400 clients served, 0 failed, 5000 requests answered" ]]
