#!/bin/sh
# Four ranks, and one alone.
set -eu
run=$(dirname "$1")/exs-run
[ "$("$run" -n 4 "$1")" = "4 ranks; the number came from rank 3" ]
[ "$("$1")" = "1 ranks; the number came from rank 0" ]
