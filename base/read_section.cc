// SPDX-License-Identifier: BSD-2-Clause
#include "base/read_section.h"

#include "base/backoff.h"
#include "base/check.h"

namespace exs {

void wait_for_readers() {
  const ThreadRecord* const mine = ThreadRecord::mine();
  EXS_CHECK(mine == nullptr || mine->turns.load(std::memory_order_relaxed) % 2 == 0);
  // Makes this thread's removals visible to other threads, and their entries into sections visible to this one. Where there is no such
  // barrier, each section begins with one of its own.
  if (ProcessBarrier::is_available()) ProcessBarrier::execute();
  ThreadRecord::for_each([](const ThreadRecord& record) {
    const std::uint64_t turn = record.turns.load(std::memory_order_seq_cst);
    if (turn % 2 == 0) return;
    for (Backoff backoff; record.turns.load(std::memory_order_acquire) == turn; backoff.wait()) continue;
  });
}

}  // namespace exs
