#!/bin/sh
# Every message arrives, whatever the seed; and the same seed takes the same way.
#   run-simulated.sh PATH-OF-SIMULATED
# SPDX-License-Identifier: BSD-2-Clause
set -eu
for seed in 1 2 3 4 5; do
  once=$("$1" "$seed")
  case $once in "200 messages, "*) ;; *) echo "seed $seed: $once"; exit 1 ;; esac
  [ "$("$1" "$seed")" = "$once" ]
done
