// Frees the values that decode() has made in memory of malloc().
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdlib>
#include <cstring>

#include "rpc/fast/codec.h"

namespace exs::rpc {
namespace {

void free_parts(const exs_rpc_type_t* type, std::byte* value);

void free_elements(const exs_rpc_type_t& element, std::size_t count, std::byte* values) {
  if (element.varies == 0) return;
  for (std::size_t i = 0; i < count; ++i) free_parts(&element, values + i * element.memory_bytes);
}

std::byte* pointer_at(const std::byte* place) {
  std::byte* pointer = nullptr;
  std::memcpy(&pointer, place, sizeof pointer);
  return pointer;
}

// A loop walks lists, as in encode.cc; `owned` is the node whose members are being freed.
void free_parts(const exs_rpc_type_t* type, std::byte* value) {
  void* owned = nullptr;
  while (type != nullptr && type->varies != 0) {
    const exs_rpc_type_t* next_type = nullptr;
    std::byte* next = nullptr;
    void* next_owned = owned;
    switch (type->kind) {
      case EXS_RPC_STRING: std::free(pointer_at(value)); break;
      case EXS_RPC_ARRAY: free_elements(*type->element, type->most, value); break;
      case EXS_RPC_VECTOR: {
        MemoryVector vector{};
        std::memcpy(&vector, value, sizeof vector);
        if (vector.values != nullptr) free_elements(*type->element, vector.count, vector.values);
        std::free(vector.values);
        break;
      }
      case EXS_RPC_OPTIONAL:
        next_owned = next = pointer_at(value);
        std::free(owned);
        next_type = next == nullptr ? nullptr : type->element;
        break;
      case EXS_RPC_STRUCT: {
        const std::uint32_t last = last_varying(*type);
        for (std::uint32_t i = 0; i < last; ++i)
          free_parts(type->parts[i].type, value + type->parts[i].memory_offset);
        next_type = type->parts[last].type;
        next = value + type->parts[last].memory_offset;
        break;
      }
      case EXS_RPC_UNION: {
        std::int32_t chosen = 0;
        std::memcpy(&chosen, value, sizeof chosen);
        const exs_rpc_part_t* const arm = find_arm(*type, chosen);
        if (arm != nullptr && arm->type != nullptr) {
          next_type = arm->type;
          next = value + arm->memory_offset;
        }
        break;
      }
      default: break;
    }
    owned = next_owned;
    type = next_type;
    value = next;
  }
  std::free(owned);
}

}  // namespace

void free_value(const exs_rpc_type_t& type, void* value) {
  free_parts(&type, static_cast<std::byte*>(value));
  std::memset(value, 0, type.memory_bytes);
}

}  // namespace exs::rpc
