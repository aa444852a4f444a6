#!/usr/bin/env bash
# A service of coroutines answers, is killed, and answers again by its name.
#   run-service_coroutine.sh PATH-OF-SERVICE_COROUTINE
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
program=$1
export EXS_SVC_MULTICAST=off
folder=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server" 2>/dev/null || true; rm -rf "$folder"' EXIT

start() {
  exec {output}< <(exec "$program" "$folder/key")
  server=$!
  read -r id <&"$output"
}

start
first=$id
[[ $("$program" "$id" one two) == $'ONE\nTWO' ]]
! "$program" "$folder/key" 2>"$folder/said"  # a second process of this host
grep --quiet "has the service's name" "$folder/said"
kill -KILL "$server"
wait "$server" || true
start
[[ $id == "$first" ]]
mapfile -t many < <(seq 2000)  # more than may be pending
"$program" "$id" "${many[@]}" | cmp - <(seq 2000)
! "$program" exs:00000000000000000000000000000000 nobody 2>"$folder/said"
grep --quiet 'No such file' "$folder/said"
echo "$id: two answers, and then ${#many[@]} by another process"
