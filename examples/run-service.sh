#!/usr/bin/env bash
# Texts reach a service, which is killed and started again, by its name.
#   run-service.sh PATH-OF-SERVICE
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
expect() {
  local text
  for text in "$@"; do
    read -r line <&"$output"
    [[ $line == "$text" ]] || { echo "the service got '$line', not '$text'"; exit 1; }
  done
}

start
first=$id
"$program" "$id" one two three
expect one two three
kill -KILL "$server"
wait "$server" || true
start
[[ $id == "$first" ]]
"$program" "$id" four
expect four
mapfile -t many < <(seq 200)  # more than may be pending, and fewer than a mailbox holds
"$program" "$id" "${many[@]}"
expect "${many[@]}"
[[ $(stat -c %a "$folder/key") == 600 ]]
! "$program" exs:00000000000000000000000000000000 nobody 2>"$folder/said"
grep --quiet 'No such file' "$folder/said"
echo "$id: four texts arrived, and then ${#many[@]} at once"
