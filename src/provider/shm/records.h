// The meaning of a ring's records for links. Both ends run on one machine, so integers have the host's order.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "src/provider/shm/ring.h"

namespace exs::shm {

enum class RecordKind : std::uint16_t {
  kMessage = 1,      // a post_send
  kReady = 2,        // the initiator's link exists
  kEnd = 3,          // the sender's link is gone; flags: an Ending
  kReadRequest = 4,  // ReadRequest: the peer is to fill the sink of a read with pieces
  kReadPiece = 5,    // ReadPiece, and the next piece of the staging area
  kWritePiece = 6,   // WritePiece, and the next piece of the staging area
};

enum class Ending : std::uint16_t {
  kOrderly = 0,
  kFault = 1,  // the other end broke the rules
  kLost = 2,   // something was cut short
};

// Identifies one of the reader's reads by its claim word (claims.h).
struct ReadRequest {
  std::uint32_t claim = 0;
  std::uint32_t generation = 0;
  std::uint32_t key = 0;
  std::uint32_t zero = 0;
  std::uint64_t address = 0;
  std::uint64_t length_bytes = 0;
};

// Pieces of one read come in order, so they need no offset.
struct ReadPiece {
  std::uint32_t claim = 0;
  std::uint32_t generation = 0;
  std::uint32_t length_bytes = 0;
};

struct WritePiece {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length_bytes = 0;
};

template <typename Body>
std::span<const std::byte> body_bytes(const Body& body) {
  static_assert(std::is_trivially_copyable_v<Body>);
  return std::as_bytes(std::span(&body, 1));
}

// False: a record of another length.
template <typename Body>
bool copy_body(const RecordHeader& header, const RingReader& ring, Body& body) {
  if (header.length_bytes != sizeof body) return false;
  ring.copy(0, std::as_writable_bytes(std::span(&body, 1)));
  return true;
}

}  // namespace exs::shm
