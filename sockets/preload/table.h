// Which numbers of this process are connections that the layer knows, and what this process alone knows of each.
#pragma once

#include <atomic>
#include <cstdint>

#include "sockets/between/link.h"
#include "sockets/preload/chunks.h"
#include "sockets/preload/segment.h"

namespace exs::sockets {

inline constexpr int kNumbers = 1 << 20;
inline constexpr std::uint32_t kNumbersPerChunk = 4096;

// The slot of a number; 0: none. A listening socket has kListenerBit and a number of its own.
inline constexpr std::uint32_t kListenerBit = 1U << 31;
// A descriptor of the layer's own, which the program does not know to be open.
inline constexpr std::uint32_t kHiddenBit = 1U << 30;
// An epoll set, with its index (epoll_sets.h).
inline constexpr std::uint32_t kEpollBit = 1U << 29;
inline constexpr std::uint32_t kBits = kListenerBit | kHiddenBit | kEpollBit;

// Most programs have no others than these.
inline constexpr int kFirstNumbers = static_cast<int>(kNumbersPerChunk);
extern std::atomic<std::uint32_t> g_first_numbers[kFirstNumbers];
extern Chunks<std::atomic<std::uint32_t>, kNumbers, kNumbersPerChunk> g_numbers;

// Null: it has none.
inline std::atomic<std::uint32_t>* find_entry(int number) noexcept {
  if (__builtin_expect(static_cast<unsigned>(number) < static_cast<unsigned>(kFirstNumbers), 1) != 0)
    return &g_first_numbers[number];
  if (static_cast<unsigned>(number) >= static_cast<unsigned>(kNumbers)) return nullptr;
  return g_numbers.find(static_cast<std::uint32_t>(number));
}
// All that a call on anything else costs.
inline std::uint32_t entry_of(int number) noexcept {
  const auto* const entry = find_entry(number);
  return entry == nullptr ? 0 : entry->load(std::memory_order_relaxed);
}
// Whether the number can have an entry.
inline bool is_known(int number) noexcept {
  return find_entry(number) != nullptr || (static_cast<unsigned>(number) < static_cast<unsigned>(kNumbers) &&
                                           g_numbers.make(static_cast<std::uint32_t>(number)) != nullptr);
}
// The entry that a number had, which has none now.
inline std::uint32_t take_entry(int number) noexcept {
  auto* const entry = find_entry(number);
  return entry == nullptr ? 0 : entry->exchange(0);
}
inline std::uint32_t slot_of(int number) noexcept {
  const std::uint32_t entry = entry_of(number);
  return (entry & kBits) != 0 ? 0 : entry;
}

// What a process has of a slot. Guarded by the slot's locks for what both lanes use; counts by the table's lock.
struct Place {
  std::atomic<Segment*> segment;
  std::atomic<Segment*> carried;             // carry.h
  std::atomic<between::Link*> link;          // to another host; it has the segment then
  std::uint32_t numbers;                     // of this process that mean the connection
  std::atomic<std::uint32_t> registrations;  // with epoll sets: the first (epoll_sets.h)
  int socket;  // of the meeting, and one more: the card, or the called end's; 0: none
};

Place& place_of(std::uint32_t slot) noexcept;
// Of slots, one more than the highest that this process has had.
std::uint32_t places_used() noexcept;

// Guards who means what: numbers and their counts. Not held across a call of the program.
class TableLock {
 public:
  TableLock() noexcept;
  ~TableLock();
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
};
// Around a fork: the child inherits it free.
void lock_table() noexcept;
void unlock_table() noexcept;

// With the lock held, of a number that is known. One that gets an entry had none.
void set_entry(int number, std::uint32_t entry) noexcept;
// The numbers below this may have entries, but for hidden ones.
int numbers_known() noexcept;

// A child of vfork shares our memory, but not our numbers: it must change nothing here. Said of a process that the layer has left
// (retire.h), too. Asks the kernel only while there may be one.
bool is_vfork_child() noexcept;
// Other processes with our memory are made now, and stay as long as they like.
void note_shared_memory() noexcept;
// From here on, forks that we do not see are told, too: before, the kernel is asked each time.
void watch_for_forks() noexcept;
void retire_process() noexcept;
bool is_retired() noexcept;
// The process is another one from now on, with memory of its own.
void remember_process() noexcept;

}  // namespace exs::sockets
