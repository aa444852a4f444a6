#!/usr/bin/env bash
# A page with pictures, which a browser, curl and exs-fetch get from one server at the same time.
#   run-Web.sh serve [TCP-PORT EXS-PORT]   serves until it is ended, at 8080 and 7080 unless said otherwise
#   run-Web.sh                             fetches, kills the server under load and starts it again, as a test does
# EXS_BUILD: the folder of the build, with bin and lib; build/release unless it is set.
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
build=${EXS_BUILD:-$here/../build/release}
fetch=$build/bin/exs-fetch
[[ -e $build/lib/exs-jetty.jar && -x $fetch ]] || { echo "run-Web.sh: $build lacks exs-jetty.jar or exs-fetch: build first" >&2; exit 2; }

folder=$(mktemp -d)
server= client= others=
end() {
  local process
  for process in $server $client $others; do kill -KILL "$process" 2>/dev/null || true; done
  wait || true
  rm -rf "$folder"
}
trap end EXIT

class_path=$build/lib/exs.jar:$build/lib/exs-jetty.jar:$folder
for jar in http io security server servlet util util-ajax; do class_path+=:/usr/share/java/jetty9-$jar.jar; done
class_path+=:/usr/share/java/servlet-api.jar
javac -nowarn -cp "$class_path" -d "$folder" "$here/Web.java"
serve() { # TCP-PORT EXS-PORT
  exec java -XX:-UsePerfData -Djava.awt.headless=true -Djava.io.tmpdir="$folder" -Djava.library.path="$build/lib" \
    -Dorg.eclipse.jetty.LEVEL=WARN -Dorg.eclipse.jetty.util.log.announce=false \
    -cp "$class_path" Web "$@"
}

if [[ ${1-} == serve ]]; then
  serve "${2:-8080}" "${3:-7080}" &
  server=$!
  trap 'kill "$server" 2>/dev/null || true' INT TERM
  wait "$server" || true
  wait "$server" || true
  exit 0
fi

start() { # TCP-PORT EXS-PORT
  exec {output}< <(serve "$@")
  server=$!
  read -r by_tcp _ _ by_exs _ <&"$output" || { echo "run-Web.sh: the server does not start"; exit 1; }
}
files=('' picture-1.png picture-2.png picture-3.png picture-4.png picture-5.png picture-6.png)
sums() { sed 's/http:[^ ]*:[0-9]*//'; } # without host and port

start 0 0
of_tcp=("${files[@]/#/$by_tcp}")
of_exs=("${files[@]/#/$by_exs}")
for file in "${files[@]}"; do
  printf '%s  /%s\n' "$(curl --silent --show-error --fail "$by_tcp$file" | sha256sum | cut -d ' ' -f 1)" "$file"
done >"$folder/expected"
for provider in shm iwarp; do
  "$fetch" --provider "$provider" --sums --repeat 20 "${of_exs[@]}" | sums >"$folder/$provider" &
  others+=" $!"
done
curl --no-progress-meter --fail --parallel --output-dir "$folder" --create-dirs --remote-name-all "${of_tcp[@]:1}" &
others+=" $!"
"$fetch" --tcp --sums --repeat 20 "${of_tcp[@]}" | sums >"$folder/tcp"
for process in $others; do wait "$process"; done
others=
for way in shm iwarp tcp; do cmp "$folder/expected" "$folder/$way"; done
for file in "${files[@]:1}"; do
  grep --quiet "^$(sha256sum <"$folder/$file" | cut -d ' ' -f 1)  /$file\$" "$folder/expected"
done
echo "${#files[@]} files are the same by shm, by iwarp and by TCP at the same time"

# A second server at the same ports, when the first has been killed.
"$fetch" --provider shm --repeat 3000 --retry 60 --json -o "$folder/first" "${of_exs[@]}" >"$folder/told" &
client=$!
until [[ -s $folder/first ]]; do kill -0 "$client"; done
kill -KILL "$server"
wait "$server" 2>/dev/null || true
port_of() { local rest=${1##*:}; echo "${rest%/}"; }
start "$(port_of "$by_tcp")" "$(port_of "$by_exs")"
wait "$client"
client=
retries=$(sed -n 's/^ *"retries": \([0-9]*\),$/\1/p' "$folder/told")
((retries > 0)) || { echo "run-Web.sh: no fetch was asked again"; exit 1; }
while read -r sum _; do grep --quiet "\"sha256\": \"$sum\"" "$folder/told"; done <"$folder/expected"
echo "3000 fetches of each outlived the server, and were asked again where they had to be"
