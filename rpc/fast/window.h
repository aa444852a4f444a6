// Memory of a client that its server maps: each slot has a place for a short call and then for its reply, and the other end watches it
// (rpc/FORMAT.md). Thread: one at a time for each slot, at each end.
//
// Design notes
//  1. The first line of a place has both flags, which are sequences, and the first bytes of the message. The writer fills it in one go,
//     flag last, so a watcher takes the cache line away once. A small call and its reply are one line, handed over and back: two lines
//     took twice as long.
//  2. An end that stops watching sets its sleep word, looks once more, and is rung from then on. The writer of a flag then checks that
//     word. Both change the word, so one of the two sees the other. The server checks once after all replies of a look.
//  3. An end copies what it reads once, then checks, then uses the copy: the other end may write at any time.
// SPDX-License-Identifier: BSD-2-Clause
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

// The words before the places, each in a cache line of its own: the sleep word of each end, and the client's bell.
inline constexpr std::size_t kLineBytes = 64;
inline constexpr std::size_t kServerSleepsOffset = 0;
inline constexpr std::size_t kClientSleepsOffset = kLineBytes;
inline constexpr std::size_t kBellOffset = 2 * kLineBytes;
inline constexpr std::size_t kPlacesOffset = 4 * kLineBytes;
// Not a power of two, so the flags of several slots do not share a set of the cache.
inline constexpr std::size_t kPlaceBytes = kInlineBytes + kLineBytes;

constexpr std::size_t window_bytes(std::uint32_t slots) {
  return kPlacesOffset + slots * kPlaceBytes;
}

inline WindowWord window_word(std::byte* at) {
  return WindowWord(*reinterpret_cast<std::uint32_t*>(at));
}

// Between two looks: lets the other thread of the core run, and the cache line move.
inline void pause_looking() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Set while an end does not watch.
class SleepWord {
 public:
  explicit SleepWord(std::byte* at) : word_(window_word(at)) {}
  // The caller looks once more after this.
  void set() const { word_.exchange(1, std::memory_order_acq_rel); }
  void clear() const { word_.store(0, std::memory_order_relaxed); }
  // Called after writing a flag.
  [[nodiscard]] bool is_set() const { return word_.fetch_add(0, std::memory_order_acq_rel) != 0; }

 private:
  const WindowWord word_;
};

class WindowPlaces {
 public:
  WindowPlaces() = default;
  explicit WindowPlaces(std::byte* window) : first_(window + kPlacesOffset) {}

  // Sequences of the last call and the last reply in the slot.
  [[nodiscard]] std::uint32_t call_flag(std::uint32_t slot) const { return load(place(slot)); }
  [[nodiscard]] std::uint32_t reply_flag(std::uint32_t slot) const {
    return load(place(slot) + kReplyFlagOffset);
  }
  // The place will be read in a moment.
  void prefetch(std::uint32_t slot) const { __builtin_prefetch(place(slot)); }
  // Writes a short message; `message` has at least a line of memory.
  void write_call(std::uint32_t slot, const std::byte* message, std::size_t bytes) const {
    write(place(slot), message, bytes, 0);
  }
  void write_reply(std::uint32_t slot, const std::byte* message, std::size_t bytes) const {
    write(place(slot), message, bytes, kReplyFlagOffset);
  }
  // Copies the message whose flag has been read; `into` has room for the longest. Empty: it is too long.
  [[nodiscard]] std::span<const std::byte> read(std::uint32_t slot, std::uint32_t sequence,
                                                std::byte* into) const {
    const std::byte* const from = place(slot);
    std::memcpy(into, from, kInFirstLine);
    std::memcpy(into, &sequence, sizeof sequence);
    std::uint32_t length = 0;
    std::memcpy(&length, into + offsetof(CallHeader, length), sizeof length);
    if (length > kInlineBytes - kHeaderBytes) return {};
    const std::size_t bytes = kHeaderBytes + length;
    if (bytes > kInFirstLine) std::memcpy(into + kInFirstLine, from + kLineBytes, bytes - kInFirstLine);
    return {into, bytes};
  }

 private:
  // Bytes of a message in the first line. The flag of a reply follows them; that of a call is the message's sequence.
  static constexpr std::size_t kInFirstLine = kLineBytes - sizeof(std::uint32_t);
  static constexpr std::size_t kReplyFlagOffset = kInFirstLine;

  [[nodiscard]] std::byte* place(std::uint32_t slot) const { return first_ + slot * kPlaceBytes; }
  static std::uint32_t load(std::byte* flag) { return window_word(flag).load(std::memory_order_acquire); }
  static void write(std::byte* to, const std::byte* message, std::size_t bytes, std::size_t flag_offset) {
    if (bytes > kInFirstLine) std::memcpy(to + kLineBytes, message + kInFirstLine, bytes - kInFirstLine);
    std::uint32_t sequence = 0;
    std::memcpy(&sequence, message, sizeof sequence);
    std::memcpy(to + sizeof sequence, message + sizeof sequence, kInFirstLine - sizeof sequence);
    window_word(to + flag_offset).store(sequence, std::memory_order_release);
  }

  std::byte* first_ = nullptr;
};

}  // namespace exs::rpc
