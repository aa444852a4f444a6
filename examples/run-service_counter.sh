#!/usr/bin/env bash
# A service is taken over by one process after the other while a client counts on it.
#   run-service_counter.sh PATH-OF-SERVICE_COUNTER
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
program=$1
export EXS_SVC_MULTICAST=off
folder=$(mktemp -d)
server=
client=
trap 'for process in $server $client; do kill "$process" 2>/dev/null || true; done; rm -rf "$folder"' EXIT

start() {
  exec {output}< <(exec "$program" "$folder/key")
  server=$!
  read -r id <&"$output"
}

start
"$program" "$id" 50000 > "$folder/said" &
client=$!
times=0
while [[ $times == 0 ]] || kill -0 "$client" 2>/dev/null; do
  before=$server
  start
  wait "$before"
  times=$((times + 1))
done
wait "$client"
client=
[[ $(<"$folder/said") == "50000 requests, counted from 1 to 50000" ]] || { cat "$folder/said"; exit 1; }
echo "$id: taken over $times times, and no request lost"
