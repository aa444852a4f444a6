// The entry of each number of this process: what the layer knows it to be. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "sockets/preload/kernel/chunks.h"

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
extern constinit std::atomic<std::uint32_t> g_first_numbers[kFirstNumbers];
extern constinit Chunks<std::atomic<std::uint32_t>, kNumbers, kNumbersPerChunk> g_numbers;

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

}  // namespace exs::sockets
