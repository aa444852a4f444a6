// From values in the program to bytes of messages.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

#include "rpc/fast/codec.h"

namespace exs::rpc {
namespace {

class Encoder {
 public:
  Encoder(Outgoing& message, std::size_t head, std::size_t longest)
      : message_(message), head_(head), longest_(longest) {}

  // Makes room behind the message so far.
  int append(std::size_t bytes, std::size_t alignment, std::size_t& offset) {
    offset = rounded_up(cursor_, alignment);
    const std::size_t end = head_ + offset + bytes;
    if (end > longest_) return EMSGSIZE;
    if (!message_.reserve(end, head_ + cursor_)) return ENOMEM;
    std::memset(at(cursor_), 0, offset - cursor_);
    cursor_ = offset + bytes;
    return 0;
  }

  int put(const exs_rpc_type_t* type, std::size_t offset, const std::byte* value, unsigned depth) {
    if (depth > kDepthMax) return EINVAL;
    for (Next next{type, offset, value}; next.type != nullptr;) {
      const Next now = next;
      next.type = nullptr;
      if (const int error = put_one(now, next, depth); error != 0) return error;
    }
    return 0;
  }
  [[nodiscard]] std::size_t bytes() const { return head_ + cursor_; }

 private:
  // The part of a value that is still to be written.
  struct Next {
    const exs_rpc_type_t* type;
    std::size_t offset;
    const std::byte* value;
  };

  std::byte* at(std::size_t offset) { return message_.message() + head_ + offset; }

  int put_one(const Next& now, Next& next, unsigned depth) {
    switch (now.type->kind) {
      case EXS_RPC_FLAT: std::memcpy(at(now.offset), now.value, now.type->bytes); return 0;
      case EXS_RPC_BOOL: return put_bool(now);
      case EXS_RPC_STRING: return put_string(now);
      case EXS_RPC_ARRAY:
        return put_elements(*now.type->element, now.type->most, now.offset, now.value, depth);
      case EXS_RPC_VECTOR: return put_vector(now, depth);
      case EXS_RPC_OPTIONAL: return put_optional(now, next);
      case EXS_RPC_STRUCT: return put_struct(now, next, depth);
      case EXS_RPC_UNION: return put_union(now, next);
      default: return EINVAL;
    }
  }
  int put_bool(const Next& now) {
    std::int32_t truth = 0;
    std::memcpy(&truth, now.value, sizeof truth);
    truth = truth != 0 ? 1 : 0;
    std::memcpy(at(now.offset), &truth, sizeof truth);
    return 0;
  }
  void refer(std::size_t from, std::size_t to, std::size_t count) {
    const Reference reference{static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(count)};
    std::memcpy(at(from), &reference, sizeof reference);
  }
  int put_string(const Next& now) {
    const char* text = nullptr;
    std::memcpy(&text, now.value, sizeof text);
    if (text == nullptr) return EINVAL;
    const std::size_t length = std::strlen(text);
    if (length > now.type->most) return EMSGSIZE;
    std::size_t offset = 0;
    if (const int error = append(length + 1, 1, offset); error != 0) return error;
    std::memcpy(at(offset), text, length + 1);
    refer(now.offset, offset, length + 1);
    return 0;
  }
  int put_vector(const Next& now, unsigned depth) {
    MemoryVector vector{};
    std::memcpy(&vector, now.value, sizeof vector);
    const exs_rpc_type_t& element = *now.type->element;
    if (vector.count > now.type->most) return EMSGSIZE;
    if (vector.count == 0) return put_nothing(now.offset);
    if (vector.values == nullptr) return EINVAL;
    std::size_t offset = 0;
    if (const int error = append_zeros(element, vector.count, offset); error != 0) return error;
    refer(now.offset, offset, vector.count);
    return put_elements(element, vector.count, offset, vector.values, depth);
  }
  int put_nothing(std::size_t offset) {
    refer(offset, 0, 0);
    return 0;
  }
  // Padding is zero; flat types have none.
  int append_zeros(const exs_rpc_type_t& element, std::size_t count, std::size_t& offset) {
    const std::size_t bytes = std::size_t{element.bytes} * count;
    if (const int error = append(bytes, element.alignment, offset); error != 0) return error;
    if (element.kind != EXS_RPC_FLAT) std::memset(at(offset), 0, bytes);
    return 0;
  }
  int put_elements(const exs_rpc_type_t& element, std::size_t count, std::size_t offset,
                   const std::byte* values, unsigned depth) {
    if (element.kind == EXS_RPC_FLAT) {
      std::memcpy(at(offset), values, element.bytes * count);
      return 0;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const int error =
          put(&element, offset + i * element.bytes, values + i * element.memory_bytes, depth + 1);
      if (error != 0) return error;
    }
    return 0;
  }
  int put_optional(const Next& now, Next& next) {
    const std::byte* target = nullptr;
    std::memcpy(&target, now.value, sizeof target);
    if (target == nullptr) return put_nothing(now.offset);
    std::size_t offset = 0;
    if (const int error = append_zeros(*now.type->element, 1, offset); error != 0) return error;
    refer(now.offset, offset, 1);
    next = {now.type->element, offset, target};
    return 0;
  }
  int put_struct(const Next& now, Next& next, unsigned depth) {
    const std::uint32_t last = last_varying(*now.type);
    for (std::uint32_t i = 0; i < now.type->parts_count; ++i) {
      const exs_rpc_part_t& part = now.type->parts[i];
      const Next inner{part.type, now.offset + part.offset, now.value + part.memory_offset};
      if (i == last) {
        next = inner;
      } else if (part.type->kind == EXS_RPC_FLAT) {
        std::memcpy(at(inner.offset), inner.value, part.type->bytes);
      } else if (const int error = put(inner.type, inner.offset, inner.value, depth + 1); error != 0) {
        return error;
      }
    }
    return 0;
  }
  int put_union(const Next& now, Next& next) {
    std::int32_t value = 0;
    std::memcpy(&value, now.value, sizeof value);
    std::memcpy(at(now.offset), &value, sizeof value);
    const exs_rpc_part_t* const arm = find_arm(*now.type, value);
    if (arm == nullptr) return EINVAL;
    if (arm->type != nullptr) next = {arm->type, now.offset + arm->offset, now.value + arm->memory_offset};
    return 0;
  }

  Outgoing& message_;
  const std::size_t head_;
  const std::size_t longest_;
  std::size_t cursor_ = 0;
};

}  // namespace

int encode(const exs_rpc_type_t& type, const void* value, Outgoing& message, std::size_t head,
           std::size_t longest, std::size_t& bytes) {
  Encoder encoder(message, head, longest);
  std::size_t offset = 0;
  int error = encoder.append(type.bytes, kBodyAlignment, offset);
  if (error != 0) return error;
  if (type.kind != EXS_RPC_FLAT) std::memset(message.message() + head, 0, type.bytes);
  error = encoder.put(&type, offset, static_cast<const std::byte*>(value), 0);
  bytes = encoder.bytes();
  return error;
}

}  // namespace exs::rpc
