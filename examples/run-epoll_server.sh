#!/usr/bin/env bash
# A hundred clients while the timer and the standard input are served, too; the end of the input ends the server.
#   run-epoll_server.sh PATH-OF-EPOLL_SERVER
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
load=$(dirname "$1")/request_load

directory=$(mktemp -d)
mkfifo "$directory/input"
exec {input}<>"$directory/input"  # opens without waiting for the other end
exec {output}< <(exec "$1" 0 <"$directory/input" {input}>&-)
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -r "$directory"' EXIT
read -r line <&"$output"
port=${line##* }

"$load" -p "$port" -c 100 -m 20
# The timer tells, as often as it finds a change, until all is answered.
until [[ $line == "2000 requests answered" ]]; do read -r line <&"$output"; done
echo count >&"$input"
read -r line <&"$output"
[[ $line == "2000 requests answered" ]]
exec {input}>&-
read -r summary <&"$output"
wait "$server"
echo "server: $summary"
[[ $summary == "ended, 2000 requests answered" ]]
