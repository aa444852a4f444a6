#!/usr/bin/env bash
# A browser gets a page with pictures by TCP, while exs-fetch gets them by exs from the same server; both have the same sums.
#   browser.sh [FOLDER-OF-THE-BUILD]
# For scripts/test --long: the browser is Debian's chromium, which scripts/setup --suites installs.
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
root=$(dirname "$(readlink -f "$0")")/../../..
export EXS_BUILD=${1:-$root/build/release}
command -v chromium >/dev/null || { echo "browser.sh: there is no chromium (scripts/setup --suites)"; exit 77; }

folder=$(mktemp -d)
server= fetching=
end() {
  [[ -z $fetching ]] || kill "$fetching" 2>/dev/null || true
  [[ -z $server ]] || kill "$server" 2>/dev/null || true
  wait || true
  rm -rf "$folder"
}
trap end EXIT
exec {output}< <(exec "$root/examples/run-Web.sh" serve 0 0)
server=$!
read -r by_tcp _ _ by_exs _ <&"$output"

urls=()
for i in 1 2 3 4 5 6; do urls+=("${by_exs}picture-$i.png"); done
while true; do
  for provider in shm iwarp; do
    "$EXS_BUILD/bin/exs-fetch" --provider "$provider" --sums "${urls[@]}" | sed 's/http:[^ ]*:[0-9]*//' >"$folder/$provider.new"
    mv "$folder/$provider.new" "$folder/$provider"
  done
done &
fetching=$!
# As root it has no sandbox, and here it shows nothing but what is ours.
browse() {
  HOME=$folder timeout 120 chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$folder/profile" \
    --virtual-time-budget=30000 --dump-dom "$by_tcp" >"$folder/page" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
  sed -n 's/.*<pre id="sums">//; /^[0-9a-f]\{64\}  /p' "$folder/page" >"$folder/browser"
}
# Its clock waits for pictures that are under way, but not for threads of its own that compute their sums: half of the pages have none.
for _ in {1..20}; do
  browse
  [[ ! -s $folder/browser ]] || break
done
until [[ -e $folder/iwarp ]]; do kill -0 "$fetching"; done
[[ $(wc -l <"$folder/browser") == 6 ]] || { echo "browser.sh: the browser has not got the pictures:"; cat "$folder/page"; exit 1; }
for provider in shm iwarp; do cmp "$folder/browser" "$folder/$provider"; done
echo "6 pictures are the same in a browser, by TCP, and for exs-fetch, by shm and iwarp, at the same time"
