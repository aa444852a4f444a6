#!/usr/bin/env bash
# The same two programs, as they are and with libexs-sunrpc.so: they say the same, and the second time their calls go by exs.
#   run-directory.sh SERVER CLIENT LIBRARY
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
server=$1 client=$2 library=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

run() { # environment...: what the client says
  local pid port
  : >"$work/port"
  env "$@" "$server" >>"$work/port" &
  pid=$!
  until port=$(cat "$work/port") && [[ -n $port ]]; do
    kill -0 "$pid"
    sleep 0.01
  done
  env "$@" "$client" "$port"
  kill "$pid"
  wait "$pid" || true
}

run EXS_SUNRPC=auto >"$work/plain"
run LD_PRELOAD="$library" EXS_EXPLAIN=yes >"$work/by-exs" 2>"$work/reasons"
cat "$work/by-exs"
diff "$work/plain" "$work/by-exs"
grep -q ': connected' "$work/reasons" || { echo "no connection of exs:"; cat "$work/reasons"; exit 1; }
