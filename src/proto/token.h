// What the token of a post on the link says: which mechanism posted it and which of its objects it is for.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::proto {

enum class PostKind : std::uint8_t {
  kMessage,    // a message whose leaving nobody waits for
  kImmediate,  // id: the send operation
  kSlot,       // id: the slot
  kRead,       // id: the transfer
  kWrite,      // id: the send operation
};

constexpr std::uint64_t make_token(PostKind kind, std::uint64_t id) {
  return id << 8 | static_cast<std::uint64_t>(kind);
}
constexpr PostKind kind_of(std::uint64_t token) {
  return static_cast<PostKind>(token & 0xff);
}
constexpr std::uint64_t id_of(std::uint64_t token) {
  return token >> 8;
}

}  // namespace exs::proto
