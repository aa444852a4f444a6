// Memory of a client that its server maps: for each slot a place for a short message in each direction, which the other end looks at
// (rpc/FORMAT.md). Thread: one at a time for each slot and direction, at each end.
//
// Design notes
// 1. The first line of a place has a message's sequence, which is its flag, and the first 60 bytes. It is written in one go, flag last:
//    whoever looks takes the line away from the writer once, and a small message is one line.
// 2. An end that stops looking says so, looks once more, and is rung from then on. Who writes a flag reads after it whether the other
//    end looks. All four are in one order, so one of the two sees the other.
// 3. What an end reads it copies once, then checks, then uses: the other end may write at any time.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "rpc/channel/frame.h"
#include "rpc/fast/header.h"

namespace exs::rpc {

using WindowWord = std::atomic_ref<std::uint32_t>;

// The words before the places, each in a line of its own: that an end does not look, and what rings the client.
inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kServerSleepsOffset = 0;
inline constexpr std::size_t kClientSleepsOffset = kLineBytes;
inline constexpr std::size_t kBellOffset = 2 * kLineBytes;
inline constexpr std::size_t kPlacesOffset = 4 * kLineBytes;
// Not a power of two: so the flags of several slots do not share a set of the cache.
inline constexpr std::size_t kPlaceBytes = kInlineBytes + kLineBytes;

constexpr std::size_t window_bytes(std::uint32_t slots) {
  return kPlacesOffset + std::size_t{2} * slots * kPlaceBytes;
}

inline WindowWord window_word(std::byte* at) {
  return WindowWord(*reinterpret_cast<std::uint32_t*>(at));
}

// Between two looks: the other thread of the core gets its turn, and the line its way.
inline void pause_looking() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// The places of one direction.
class WindowRow {
 public:
  WindowRow() = default;
  explicit WindowRow(std::byte* first) : first_(first) {}

  // The sequence of the last message in the slot.
  [[nodiscard]] std::uint32_t flag(std::uint32_t slot) const {
    return window_word(place(slot)).load(std::memory_order_seq_cst);
  }
  // A short message, in memory that has a line at least.
  void write(std::uint32_t slot, const std::byte* message, std::size_t bytes) const {
    std::byte* const to = place(slot);
    if (bytes > kLineBytes) std::memcpy(to + kLineBytes, message + kLineBytes, bytes - kLineBytes);
    std::uint32_t sequence = 0;
    std::memcpy(&sequence, message, sizeof sequence);
    std::memcpy(to + sizeof sequence, message + sizeof sequence, kLineBytes - sizeof sequence);
    window_word(to).store(sequence, std::memory_order_seq_cst);
  }
  // The message with this flag, whose header is read already, copied to memory for the longest. Empty: it is too long.
  [[nodiscard]] std::span<const std::byte> read(std::uint32_t slot, std::uint32_t sequence,
                                                std::byte* into) const {
    const std::byte* const from = place(slot);
    std::memcpy(into, from, kLineBytes);
    std::memcpy(into, &sequence, sizeof sequence);
    std::uint32_t length = 0;
    std::memcpy(&length, into + offsetof(Header, length), sizeof length);
    if (length > kInlineBytes - kHeaderBytes) return {};
    const std::size_t bytes = kHeaderBytes + length;
    if (bytes > kLineBytes) std::memcpy(into + kLineBytes, from + kLineBytes, bytes - kLineBytes);
    return {into, bytes};
  }

 private:
  [[nodiscard]] std::byte* place(std::uint32_t slot) const { return first_ + slot * kPlaceBytes; }

  std::byte* first_ = nullptr;
};

}  // namespace exs::rpc
