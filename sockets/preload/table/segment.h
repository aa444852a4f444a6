// The memory that the two ends of a connection share: a sealed memfd of fixed size with the words and the
// ring of each direction. The peer may change any byte, so every value is checked.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "sockets/lane/direction.h"
#include "sockets/lane/ring.h"
#include "sockets/lane/words.h"

namespace exs::sockets {

using Direction = lane::Direction<lane::SharedWord>;

inline constexpr std::uint64_t kSegmentMagic = 0x33306b636f737865;  // "exsock03"
inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::size_t kCapacityMax = std::size_t{16} << 20;

enum class Meeting : std::uint32_t { kOffered, kJoined, kWithdrawn, kRefused };

// Each end's words have cache lines of their own.
struct Segment {  // NOLINT(clang-analyzer-optin.performance.Padding)
  std::uint64_t magic;
  std::uint64_t capacity;  // of each ring
  lane::SharedWord<std::uint32_t> meeting;
  std::uint32_t bell;     // the value of a bell's byte
  Direction from_called;  // from the end that accepted the connection
  Direction from_caller;
  // Each end's number of its TCP socket, in the process that met: hints (peers_socket.h).
  lane::SharedWord<std::int32_t> number_of_called;
  lane::SharedWord<std::int32_t> number_of_caller;

  [[nodiscard]] std::byte* ring(bool of_called, std::size_t bytes) noexcept {
    return reinterpret_cast<std::byte*>(this) + kHeaderBytes + (of_called ? 0 : bytes);
  }
  static constexpr std::size_t bytes(std::size_t capacity) noexcept { return kHeaderBytes + 2 * capacity; }
};
static_assert(sizeof(Segment) <= kHeaderBytes);

// Makes an empty segment in stage kOffered; `descriptor` is its memfd. Null: the kernel refused.
Segment* create_segment(std::size_t capacity, std::uint8_t bell, int& descriptor) noexcept;
// Maps a peer's segment. Null: the descriptor is no valid memfd.
Segment* map_segment(int descriptor, std::size_t& capacity) noexcept;
void unmap_segment(Segment* segment, std::size_t capacity) noexcept;
// Leaves the words alone, for a connection that has left the rings. Its capacity is 0 from then on.
void unmap_rings(Segment& segment, std::size_t capacity) noexcept;
bool has_rings() noexcept;  // some are mapped
// The rings lock more than the layer's share of what the program may lock.
bool lock_too_much() noexcept;
// The process's address space is limited; small rings then serve more connections.
bool is_space_limited() noexcept;
// The program locks all its later memory (mlockall with MCL_FUTURE).
void note_locking(bool of_all) noexcept;
// Replaces the segment by private memory, for a connection that has left it. False: no memory.
bool part_from_segment(Segment& segment, std::size_t capacity) noexcept;

}  // namespace exs::sockets
