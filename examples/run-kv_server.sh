#!/usr/bin/env bash
# A hundred clients at once, whose keys expire; then SIGINT must end the server with its summary.
#   run-kv_server.sh PATH-OF-KV_SERVER
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
client=$(dirname "$1")/kv_client

exec {output}< <(exec "$1" 0)
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r line <&"$output"
port=${line##* }

told=$("$client" "$port" 100)
echo "$told"
[[ $told == "100 clients, each key as it should be" ]]

kill -INT "$server"
read -r summary <&"$output"
wait "$server"
echo "server: $summary"
# Each client lets one key expire, and renews another one, which on a slow machine expires before that as well.
[[ $summary =~ ^[0-9]+" requests answered, "([0-9]+)" keys expired"$ ]]
((BASH_REMATCH[1] >= 100 && BASH_REMATCH[1] <= 200))
