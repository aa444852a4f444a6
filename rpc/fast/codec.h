// Converts between values in the program and their bytes in messages (rpc/FORMAT.md), by the tables that exs-rpcgen makes of types.
//
// Design notes
//  1. Values in the program have the layout of rpcgen: a vector is {unsigned count; T *values}, a union {int; union}.
//  2. Variable parts follow in depth-first order, so one cursor checks all: no two parts overlap, and none is left out.
//  3. A loop walks the last variable part of a struct. So lists of any length need no stack; other pointers nest 64 deep.
// Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "exs/rpc.h"
#include "rpc/fast/arena.h"
#include "rpc/fast/outgoing.h"

namespace exs::rpc {

inline constexpr unsigned kDepthMax = 64;
inline constexpr std::size_t kBodyAlignment = 8;

// Writes the value behind the first `head` bytes of the message, a multiple of 8, and sets `bytes` to the whole length.
// EINVAL a required pointer is NULL, or a value is not of its type;
// EMSGSIZE there are too many elements, or the message exceeds `longest`;
// ENOMEM.
Status encode(const exs_rpc_type_t& type, const void* value, OutgoingMessage& message, std::size_t head,
              std::size_t longest, std::size_t& bytes);

// Where decoded data go.
enum class Placement {
  kCopy,     // into memory of malloc()
  kView,     // flat data stay in the message; the rest goes to the arena
  kInPlace,  // into memory that the value already points to
};

// Reads the value from all of `body`, whose first byte is aligned to 8.
// EPROTO the bytes are not of this type;
// EMSGSIZE the memory in place is too small;
// ENOMEM.
// kCopy and kView ignore the old content of `value`; after an error it holds nothing that needs a free.
Status decode(const exs_rpc_type_t& type, std::span<const std::byte> body, void* value, Placement placement,
              RequestArena* arena);

// Frees a value that kCopy has made.
void free_value(const exs_rpc_type_t& type, void* value);

// --- for encode.cc, decode.cc and free_value.cc ---

// A vector in the program.
struct MemoryVector {
  unsigned count;
  std::byte* values;
};
// A reference to a variable part, in messages.
struct Reference {
  std::uint32_t offset;
  std::uint32_t count;
};

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// Returns the arm for a value of the discriminant, or NULL.
inline const exs_rpc_part_t* find_arm(const exs_rpc_type_t& type, std::int32_t value) {
  for (std::uint32_t i = 0; i < type.parts_count; ++i) {
    const bool is_default = type.has_default != 0 && i + 1 == type.parts_count;
    if (is_default || type.parts[i].value == value) return &type.parts[i];
  }
  return nullptr;
}

// Returns the last variable part, or parts_count if none varies.
inline std::uint32_t last_varying(const exs_rpc_type_t& type) {
  for (std::uint32_t i = type.parts_count; i-- > 0;)
    if (type.parts[i].type->varies != 0) return i;
  return type.parts_count;
}

}  // namespace exs::rpc
