// A link over shared memory, with a peer that writes records, words and pieces as it likes (tests/provider/shm/attack.h).
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/fuzz.h"
#include "tests/provider/shm/attack.h"

EXS_FUZZ_TARGET(shm_link) {
  exs::shm::test::Attack attack(input);
  for (int steps = 0; steps < 200 && !input.has_ended() && attack.ending() == -1; ++steps) attack.step();
  attack.end();
  exs::fuzz::hold(attack.memory_is_whole(), "nothing but windows and receives is written");
}
