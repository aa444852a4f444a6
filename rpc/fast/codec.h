// Between values in the program and their bytes in messages (rpc/FORMAT.md), by the tables that exs-rpcgen makes of types.
//
// Design notes
// 1. Values in the program are those of rpcgen: a vector is {unsigned count; T *values}, a union {int; union}.
// 2. What varies lies behind in depth-first order, so one cursor checks all: no two parts overlap, and none is left out.
// 3. The last part of a struct that varies is walked in a loop. So lists of any length need no stack; other pointers nest 64 deep.
// Thread: any.
#pragma once

#include <cstddef>
#include <span>

#include "exs/rpc.h"
#include "rpc/fast/arena.h"
#include "rpc/fast/outgoing.h"

namespace exs::rpc {

inline constexpr unsigned kDepthMax = 64;
inline constexpr std::size_t kBodyAlignment = 8;

// Writes the value behind the first `head` bytes of the message, a multiple of 8, and sets `bytes` to those of all. 0, or EINVAL a NULL
// where there has to be something, or a value that its type does not have; EMSGSIZE it has more elements than it may, or all would be
// longer than `longest`; ENOMEM.
int encode(const exs_rpc_type_t& type, const void* value, Outgoing& message, std::size_t head,
           std::size_t longest, std::size_t& bytes);

// Where decoded data go.
enum class Placement {
  kCopy,     // into memory of malloc()
  kView,     // what is flat stays in the message; the rest goes to the arena
  kInPlace,  // into the memory that the value points to already
};

// Reads the value from all of `body`, whose first byte is aligned to 8. 0, or EPROTO the bytes are none of this type; EMSGSIZE there is
// not enough memory in place; ENOMEM. With kCopy and kView what `value` held before is forgotten; after an error there is nothing in it
// to free.
int decode(const exs_rpc_type_t& type, std::span<const std::byte> body, void* value, Placement placement,
           Arena* arena);

// What kCopy has made.
void free_value(const exs_rpc_type_t& type, void* value);

// --- for encode.cc, decode.cc and free_value.cc ---

// A vector in the program.
struct MemoryVector {
  unsigned count;
  std::byte* values;
};
// Of variable parts, in messages.
struct Reference {
  std::uint32_t offset;
  std::uint32_t count;
};

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// The arm for a value of the discriminant; null: there is none.
inline const exs_rpc_part_t* find_arm(const exs_rpc_type_t& type, std::int32_t value) {
  for (std::uint32_t i = 0; i < type.parts_count; ++i) {
    const bool is_default = type.has_default != 0 && i + 1 == type.parts_count;
    if (is_default || type.parts[i].value == value) return &type.parts[i];
  }
  return nullptr;
}

// The last part that varies; parts_count: none does.
inline std::uint32_t last_varying(const exs_rpc_type_t& type) {
  for (std::uint32_t i = type.parts_count; i-- > 0;)
    if (type.parts[i].type->varies != 0) return i;
  return type.parts_count;
}

}  // namespace exs::rpc
