// The numbers of this process: which connections known to the layer they are, and the process's own state of
// each.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "sockets/between/link.h"
#include "sockets/preload/chunks.h"
#include "sockets/preload/segment.h"

namespace exs::sockets {

inline constexpr int kNumbers = 1 << 20;
inline constexpr std::uint32_t kNumbersPerChunk = 4096;

// The slot of a number; 0: none. A listening socket has kListenerBit and its mark's number plus one.
inline constexpr std::uint32_t kListenerBit = 1U << 31;
// A descriptor of the layer that the program must not notice.
inline constexpr std::uint32_t kHiddenBit = 1U << 30;
// An epoll set, with its index (epoll_sets.h).
inline constexpr std::uint32_t kEpollBit = 1U << 29;
inline constexpr std::uint32_t kBits = kListenerBit | kHiddenBit | kEpollBit;

// Most programs use only these numbers.
inline constexpr int kFirstNumbers = static_cast<int>(kNumbersPerChunk);
extern std::atomic<std::uint32_t> g_first_numbers[kFirstNumbers];
extern Chunks<std::atomic<std::uint32_t>, kNumbers, kNumbersPerChunk> g_numbers;

// Null: the number has no entry.
inline std::atomic<std::uint32_t>* find_entry(int number) noexcept {
  if (__builtin_expect(static_cast<unsigned>(number) < static_cast<unsigned>(kFirstNumbers), 1) != 0)
    return &g_first_numbers[number];
  if (static_cast<unsigned>(number) >= static_cast<unsigned>(kNumbers)) return nullptr;
  return g_numbers.find(static_cast<std::uint32_t>(number));
}
// A call on any other descriptor costs only this.
inline std::uint32_t entry_of(int number) noexcept {
  const auto* const entry = find_entry(number);
  return entry == nullptr ? 0 : entry->load(std::memory_order_relaxed);
}
// The number may have an entry.
inline bool is_known(int number) noexcept {
  return find_entry(number) != nullptr || (static_cast<unsigned>(number) < static_cast<unsigned>(kNumbers) &&
                                           g_numbers.make(static_cast<std::uint32_t>(number)) != nullptr);
}
// Removes and returns the entry of a number.
inline std::uint32_t take_entry(int number) noexcept {
  auto* const entry = find_entry(number);
  return entry == nullptr ? 0 : entry->exchange(0);
}
inline std::uint32_t slot_of(int number) noexcept {
  const std::uint32_t entry = entry_of(number);
  return (entry & kBits) != 0 ? 0 : entry;
}

// The process's share of a slot. The slot's locks guard what both lanes use; the table's lock guards counts.
struct Place {
  std::atomic<Segment*> segment;
  bool has_words_alone;                      // of the segment: its rings are unmapped; guarded by both locks
  std::atomic<Segment*> carried;             // carry.h
  std::atomic<between::Link*> link;          // to another host; it then owns the segment
  std::uint32_t numbers;                     // numbers of this process for the connection
  std::atomic<std::uint32_t> registrations;  // the first one with an epoll set (epoll_sets.h)
  // The meeting's socket plus one: the card, or the called end's socket; 0: none.
  int socket;
};

Place& place_of(std::uint32_t slot) noexcept;
// One more than the highest slot that this process has had.
std::uint32_t places_used() noexcept;

// Guards the meaning of numbers and their counts. No call of the program runs under it.
class TableLock {
 public:
  TableLock() noexcept;
  ~TableLock();
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
};
// Enclose a fork, so that the child inherits the lock free.
void lock_table() noexcept;
void unlock_table() noexcept;

// The caller holds the lock, and the number is known. A new entry must not replace another one.
void set_entry(int number, std::uint32_t entry) noexcept;
// Only numbers below this may have entries, except hidden ones.
int numbers_known() noexcept;

// A child of vfork shares our memory, but not our numbers, so it must change nothing here. Also true after
// retire(). Asks the kernel only while such a child may exist.
bool is_vfork_child() noexcept;
// Other processes that share our memory for any time are about to be made.
void note_shared_memory() noexcept;
// Detects forks that the layer does not see. Before this call, each check asks the kernel.
void watch_for_forks() noexcept;
void retire_process() noexcept;
bool is_retired() noexcept;
// The process is a new one, with its own memory.
void remember_process() noexcept;

}  // namespace exs::sockets
