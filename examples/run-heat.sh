#!/usr/bin/env bash
# Two viewers sample a running simulation; each checks every cell and that the simulation gets on. One draws.
#   run-heat.sh PATH-OF-HEAT
set -euo pipefail
viewer=$(dirname "$1")/heat_view

exec {output}< <(exec "$1" 0)
simulation=$!
trap 'kill "$simulation" 2>/dev/null || true' EXIT
read -r line <&"$output"
port=${line##* }

"$viewer" --port "$port" --frames 10 --plain &
"$viewer" --port "$port" --frames 10 --plain
wait $!
[[ $("$viewer" --port "$port" --frames 2) == *step* ]]

kill -INT "$simulation"
read -r summary <&"$output"
wait "$simulation"
echo "simulation: $summary"
[[ $summary =~ ^[1-9][0-9]*\ steps ]]
