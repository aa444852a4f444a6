#!/usr/bin/env bash
# The directory by stubs of exs-rpcgen. With the programs of rpcgen, it says the same as those.
#   run-directory_stubs.sh SERVER CLIENT [RPCGEN-SERVER RPCGEN-CLIENT]
set -euo pipefail
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # server client: what the client says
  local pid port
  : >"$work/port"
  "$1" >>"$work/port" &
  pid=$!
  until port=$(cat "$work/port") && [[ -n $port ]]; do
    kill -0 "$pid"
    sleep 0.01
  done
  "$2" "$port"
  kill "$pid"
  wait "$pid" || [[ $? == 143 ]]
}

run "$1" "$2" | tee "$work/stubs"
if (($# == 4)); then
  run "$3" "$4" >"$work/rpcgen"
  diff "$work/rpcgen" "$work/stubs"
fi
