#!/usr/bin/env bash
# The directory by stubs of exs-rpcgen: the client says the same of a server, of one that asks two others, and, if the programs of rpcgen
# are there, what rpcgen's client says of its server.
#   run-directory_stubs.sh SERVER CLIENT COROUTINE-SERVER [RPCGEN-SERVER RPCGEN-CLIENT]
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
work=$(mktemp -d)
pids=()
trap 'rm -rf "$work"' EXIT

start() { # program argument...: sets `port`
  : >"$work/port"
  "$@" >>"$work/port" &
  pids+=($!)
  until port=$(cat "$work/port") && [[ -n $port ]]; do
    kill -0 "${pids[-1]}"
    sleep 0.01
  done
}
end() {
  local pid
  for pid in "${pids[@]}"; do
    kill "$pid"
    wait "$pid" || [[ $? == 143 ]]
  done
  pids=()
}

start "$1"
"$2" "$port" | tee "$work/stubs"
end

start "$1"
first=$port
start "$1"
start "$3" "$first" "$port"
"$2" "$port" >"$work/coroutines"
end
diff "$work/stubs" "$work/coroutines"

if (($# == 5)); then
  start "$4"
  "$5" "$port" >"$work/rpcgen"
  end
  diff "$work/stubs" "$work/rpcgen"
fi
