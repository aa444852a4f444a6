// The process's own state of each slot that it has a number for.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "base/annotations.h"
#include "sockets/preload/table/table_lock.h"

namespace exs::sockets {

struct Segment;
namespace between {
struct HostLink;
}

// The process's share of a slot. The slot's locks guard what both lanes use; the table's lock guards counts.
struct SlotShare {
  std::atomic<Segment*> segment;
  bool has_words_alone;                  // of the segment: its rings are unmapped; guarded by both locks
  std::atomic<Segment*> carried;         // carry.h
  std::atomic<between::HostLink*> link;  // to another host; it then owns the segment
  std::uint32_t numbers EXS_GUARDED_BY(g_table_mutex);  // numbers of this process for the connection
  std::atomic<std::uint32_t> registrations;             // the first one with an epoll set (epoll_sets.h)
  // The meeting's socket plus one: the card, or the called end's socket; 0: none.
  int socket;
};

SlotShare& share_of(std::uint32_t slot) noexcept;
// One more than the highest slot that this process has had.
std::uint32_t shares_used() noexcept;
void note_share(std::uint32_t slot) noexcept EXS_REQUIRES(g_table_mutex);
// The process has a number of the slot. A hint without the lock.
inline bool has_numbers(std::uint32_t slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&share_of(slot).numbers, __ATOMIC_RELAXED) > 0;
}
// The layer leaves the process.
void forget_shares() noexcept;

}  // namespace exs::sockets
