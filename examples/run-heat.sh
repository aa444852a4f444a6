#!/usr/bin/env bash
# Two viewers sample a running simulation; each checks every cell and that the simulation gets on. One draws.
#   run-heat.sh PATH-OF-HEAT
# EXS_TEST_ADDRESS: an address of this machine to run on in place of 127.0.0.1.
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
address=${EXS_TEST_ADDRESS:-127.0.0.1}
viewer=$(dirname "$1")/heat_view

# A word that is no option starts nothing.
[[ $({ "$1" foo || echo "status $?"; } 2>&1) == *usage*"status 2" ]]
[[ $({ "$viewer" foo || echo "status $?"; } 2>&1) == *foo*"status 2" ]]

exec {output}< <(exec "$1" 0 "$address")
simulation=$!
trap 'kill "$simulation" 2>/dev/null || true' EXIT
read -r line <&"$output"
port=${line##* }

"$viewer" --address "$address" --port "$port" --frames 10 --plain &
"$viewer" --address "$address" --port "$port" --frames 10 --plain
wait $!
[[ $("$viewer" --address "$address" --port "$port" --frames 2) == *step* ]]

# From Python, where the library is what Python can load: without a sanitizer.
library=$(dirname "$1")/../lib
if [[ $(ldd "$library/libexs.so.0") != *lib[at]san* ]]; then
  LD_LIBRARY_PATH=$library python3 "$(dirname "$0")/heat_view.py" "$port" "$address"
fi

kill -INT "$simulation"
read -r summary <&"$output"
wait "$simulation"
echo "simulation: $summary"
[[ $summary =~ ^[1-9][0-9]*\ steps ]]
