// The ring of shared memory, with a peer that rewrites both segments (tests/provider/shm/hostile_ring.h).
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/fuzz.h"
#include "tests/provider/shm/hostile_ring.h"

EXS_FUZZ_TARGET(shm_ring) {
  using namespace exs::shm::test;
  static GuardedSegment in;
  static GuardedSegment out;
  in.clear();
  out.clear();
  RingCounts counts;
  RingVictim victim(in.ours(), out.ours(), input, counts);
  HostileRing hostile(in.theirs(), out.theirs(), input);
  for (int steps = 0; steps < 400 && !input.has_ended(); ++steps) {
    hostile.step();
    if (!victim.step()) return;
  }
}
