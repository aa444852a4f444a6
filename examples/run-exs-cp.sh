#!/usr/bin/env bash
# Copies a real file of some megabytes, an empty one, and refuses to replace one.
#   run-exs-cp.sh PATH-OF-EXS-CP
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
exs_cp=$1
folder=$(mktemp -d)
receiver=
trap 'kill $receiver 2>/dev/null || true; rm -rf "$folder"' EXIT

copy() { # source, target, address of the receiver with a colon behind it
  exec {output}< <(exec "$exs_cp" -s "${3:-}0" "$2")
  receiver=$!
  read -r line <&"$output"
  "$exs_cp" "${3:-}${line##* }" "$1"
  wait "$receiver"
  receiver=
  cat <&"$output"
  cmp "$1" "$2"
}

# A shared library on which every C++ program depends: a real file of two megabytes or more.
source=$(readlink -f "$(g++ -print-file-name=libstdc++.so.6)")
copy "$source" "$folder/copy"
copy "$source" "$folder/copy to another address" 127.0.0.2:
: >"$folder/empty"
copy "$folder/empty" "$folder/copy of empty"

if "$exs_cp" -s 0 "$folder/copy" 2>"$folder/refusal"; then
  echo "replaced a file"
  exit 1
fi
grep --quiet 'is not replaced' "$folder/refusal"
cmp "$source" "$folder/copy"
[[ $(find "$folder" -name '*.part-*') == "" ]]
