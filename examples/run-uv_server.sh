#!/usr/bin/env bash
# A hundred clients of exs while the timer runs and the TCP port tells of both; then SIGINT must end the server.
#   run-uv_server.sh PATH-OF-UV_SERVER, or of asio_server
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
load=$(dirname "$1")/request_load

exec {output}< <(exec "$1" 0)
server=$!
trap 'kill "$server" 2>/dev/null || true' EXIT
read -r line <&"$output"
port=${line##* }
tcp=${line#tcp on port }
tcp=${tcp%%,*}

told=
ask() {
  exec {viewer}<>"/dev/tcp/127.0.0.1/$tcp"
  read -r told <&"$viewer"
  exec {viewer}>&-
}
"$load" -p "$port" -c 100 -m 20
# The last event may not have been handled yet, nor the timer have run.
until [[ $told =~ ^"2000 requests answered, "[1-9][0-9]*" ticks"$ ]]; do ask; done
echo "server: $told"

kill -INT "$server"
read -r summary <&"$output"
wait "$server"
echo "server: $summary"
[[ $summary == "2000 requests answered" ]]
