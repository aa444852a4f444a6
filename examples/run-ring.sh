#!/bin/sh
# Four ranks, and one alone.
# SPDX-License-Identifier: BSD-2-Clause
set -eu
run=$(dirname "$1")/exs-run
[ -x "$run" ] || run=exs-run # of an installed exs
[ "$("$run" -n 4 "$1")" = "4 ranks; the number came from rank 3" ]
[ "$("$1")" = "1 ranks; the number came from rank 0" ]
