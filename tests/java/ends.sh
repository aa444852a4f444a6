#!/bin/sh
# Ranks that die, abort or throw: ends.sh EXS-RUN JAVA...
# SPDX-License-Identifier: BSD-2-Clause
set -eu
run=$1
shift
status_of() {
  status=0
  "$@" || status=$?
  echo "$status"
}

said=$("$run" --keep-going -n 3 "$@" exs.Ends die || [ $? = 9 ])
[ "$(echo "$said" | sort)" = "rank 0 went on
rank 2 went on" ] || { echo "survivors said: $said"; exit 1; }
[ "$(status_of "$run" -n 3 "$@" exs.Ends abort)" = 7 ]
[ "$(status_of "$run" -n 3 "$@" exs.Ends throw)" = 1 ]
