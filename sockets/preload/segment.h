// What the two ends of a connection share: a memfd that can change its size no more, with the words and the ring of each
// direction. Its bytes are the peer's to change, so nothing here is believed unchecked.
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

struct Segment {
  std::uint64_t magic;
  std::uint64_t capacity;  // of each ring
  lane::SharedWord<std::uint32_t> meeting;
  std::uint32_t bell;     // the byte that bells are
  Direction from_called;  // from the end that accepted the connection
  Direction from_caller;
  // Of each end's TCP socket, in the process that met: hints (peers_socket.h).
  lane::SharedWord<std::int32_t> number_of_called;
  lane::SharedWord<std::int32_t> number_of_caller;

  [[nodiscard]] std::byte* ring(bool of_called, std::size_t bytes) noexcept {
    return reinterpret_cast<std::byte*>(this) + kHeaderBytes + (of_called ? 0 : bytes);
  }
  static constexpr std::size_t bytes(std::size_t capacity) noexcept { return kHeaderBytes + 2 * capacity; }
};
static_assert(sizeof(Segment) <= kHeaderBytes);

// New, empty and offered; `descriptor` is the memfd's. Null: the kernel refused it.
Segment* create_segment(std::size_t capacity, std::uint8_t bell, int& descriptor) noexcept;
// A peer's. Null: it is no such memfd.
Segment* map_segment(int descriptor, std::size_t& capacity) noexcept;
void unmap_segment(Segment* segment, std::size_t capacity) noexcept;
// Of the process: then small rings are for more connections.
bool is_space_limited() noexcept;
// Whether the program locks all memory that it gets from now on (mlockall with MCL_FUTURE).
void note_locking(bool of_all) noexcept;
// What this process does there from now on nobody sees: for a connection that has left it. False: there is no memory for that.
bool part_from_segment(Segment& segment, std::size_t capacity) noexcept;

}  // namespace exs::sockets
