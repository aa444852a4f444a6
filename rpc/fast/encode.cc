// From values in the program to bytes of messages.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <cstring>

#include "rpc/fast/codec.h"

namespace exs::rpc {
namespace {

class ValueEncoder {
 public:
  ValueEncoder(OutgoingMessage& message, std::size_t head, std::size_t longest)
      : message_(message), head_(head), longest_(longest) {}

  // Makes room behind the message so far.
  Status append(std::size_t bytes, std::size_t alignment, std::size_t& offset) {
    offset = rounded_up(cursor_, alignment);
    const std::size_t end = head_ + offset + bytes;
    if (end > longest_) return Status(EMSGSIZE);
    if (!message_.reserve(end, head_ + cursor_)) return Status(ENOMEM);
    std::memset(at(cursor_), 0, offset - cursor_);
    cursor_ = offset + bytes;
    return {};
  }

  Status put(const exs_rpc_type_t* type, std::size_t offset, const std::byte* value, unsigned depth) {
    if (depth > kDepthMax) return Status(EINVAL);
    for (UnwrittenPart next{type, offset, value}; next.type != nullptr;) {
      const UnwrittenPart now = next;
      next.type = nullptr;
      if (const Status done = put_one(now, next, depth); !done.ok()) return done;
    }
    return {};
  }
  [[nodiscard]] std::size_t bytes() const { return head_ + cursor_; }

 private:
  // The part of a value that is still to be written.
  struct UnwrittenPart {
    const exs_rpc_type_t* type;
    std::size_t offset;
    const std::byte* value;
  };

  std::byte* at(std::size_t offset) { return message_.message() + head_ + offset; }

  Status put_one(const UnwrittenPart& now, UnwrittenPart& next, unsigned depth) {
    switch (now.type->kind) {
      case EXS_RPC_FLAT: std::memcpy(at(now.offset), now.value, now.type->bytes); return {};
      case EXS_RPC_BOOL: return put_bool(now);
      case EXS_RPC_STRING: return put_string(now);
      case EXS_RPC_ARRAY:
        return put_elements(*now.type->element, now.type->most, now.offset, now.value, depth);
      case EXS_RPC_VECTOR: return put_vector(now, depth);
      case EXS_RPC_OPTIONAL: return put_optional(now, next);
      case EXS_RPC_STRUCT: return put_struct(now, next, depth);
      case EXS_RPC_UNION: return put_union(now, next);
      default: return Status(EINVAL);
    }
  }
  Status put_bool(const UnwrittenPart& now) {
    std::int32_t truth = 0;
    std::memcpy(&truth, now.value, sizeof truth);
    truth = truth != 0 ? 1 : 0;
    std::memcpy(at(now.offset), &truth, sizeof truth);
    return {};
  }
  void refer(std::size_t from, std::size_t to, std::size_t count) {
    const Reference reference{static_cast<std::uint32_t>(to), static_cast<std::uint32_t>(count)};
    std::memcpy(at(from), &reference, sizeof reference);
  }
  Status put_string(const UnwrittenPart& now) {
    const char* text = nullptr;
    std::memcpy(&text, now.value, sizeof text);
    if (text == nullptr) return Status(EINVAL);
    const std::size_t length = std::strlen(text);
    if (length > now.type->most) return Status(EMSGSIZE);
    std::size_t offset = 0;
    if (const Status done = append(length + 1, 1, offset); !done.ok()) return done;
    std::memcpy(at(offset), text, length + 1);
    refer(now.offset, offset, length + 1);
    return {};
  }
  Status put_vector(const UnwrittenPart& now, unsigned depth) {
    MemoryVector vector{};
    std::memcpy(&vector, now.value, sizeof vector);
    const exs_rpc_type_t& element = *now.type->element;
    if (vector.count > now.type->most) return Status(EMSGSIZE);
    if (vector.count == 0) return put_nothing(now.offset);
    if (vector.values == nullptr) return Status(EINVAL);
    std::size_t offset = 0;
    if (const Status done = append_zeros(element, vector.count, offset); !done.ok()) return done;
    refer(now.offset, offset, vector.count);
    return put_elements(element, vector.count, offset, vector.values, depth);
  }
  Status put_nothing(std::size_t offset) {
    refer(offset, 0, 0);
    return {};
  }
  // Padding is zero; flat types have none.
  Status append_zeros(const exs_rpc_type_t& element, std::size_t count, std::size_t& offset) {
    const std::size_t bytes = std::size_t{element.bytes} * count;
    if (const Status done = append(bytes, element.alignment, offset); !done.ok()) return done;
    if (element.kind != EXS_RPC_FLAT) std::memset(at(offset), 0, bytes);
    return {};
  }
  Status put_elements(const exs_rpc_type_t& element, std::size_t count, std::size_t offset,
                      const std::byte* values, unsigned depth) {
    if (element.kind == EXS_RPC_FLAT) {
      std::memcpy(at(offset), values, element.bytes * count);
      return {};
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Status done =
          put(&element, offset + i * element.bytes, values + i * element.memory_bytes, depth + 1);
      if (!done.ok()) return done;
    }
    return {};
  }
  Status put_optional(const UnwrittenPart& now, UnwrittenPart& next) {
    const std::byte* target = nullptr;
    std::memcpy(&target, now.value, sizeof target);
    if (target == nullptr) return put_nothing(now.offset);
    std::size_t offset = 0;
    if (const Status done = append_zeros(*now.type->element, 1, offset); !done.ok()) return done;
    refer(now.offset, offset, 1);
    next = {now.type->element, offset, target};
    return {};
  }
  Status put_struct(const UnwrittenPart& now, UnwrittenPart& next, unsigned depth) {
    const std::uint32_t last = last_varying(*now.type);
    for (std::uint32_t i = 0; i < now.type->parts_count; ++i) {
      const exs_rpc_part_t& part = now.type->parts[i];
      const UnwrittenPart inner{part.type, now.offset + part.offset, now.value + part.memory_offset};
      if (i == last) {
        next = inner;
      } else if (part.type->kind == EXS_RPC_FLAT) {
        std::memcpy(at(inner.offset), inner.value, part.type->bytes);
      } else if (const Status done = put(inner.type, inner.offset, inner.value, depth + 1); !done.ok()) {
        return done;
      }
    }
    return {};
  }
  Status put_union(const UnwrittenPart& now, UnwrittenPart& next) {
    std::int32_t value = 0;
    std::memcpy(&value, now.value, sizeof value);
    std::memcpy(at(now.offset), &value, sizeof value);
    const exs_rpc_part_t* const arm = find_arm(*now.type, value);
    if (arm == nullptr) return Status(EINVAL);
    if (arm->type != nullptr) next = {arm->type, now.offset + arm->offset, now.value + arm->memory_offset};
    return {};
  }

  OutgoingMessage& message_;
  const std::size_t head_;
  const std::size_t longest_;
  std::size_t cursor_ = 0;
};

}  // namespace

Status encode(const exs_rpc_type_t& type, const void* value, OutgoingMessage& message, std::size_t head,
              std::size_t longest, std::size_t& bytes) {
  ValueEncoder encoder(message, head, longest);
  std::size_t offset = 0;
  Status done = encoder.append(type.bytes, kBodyAlignment, offset);
  if (!done.ok()) return done;
  if (type.kind != EXS_RPC_FLAT) std::memset(message.message() + head, 0, type.bytes);
  done = encoder.put(&type, offset, static_cast<const std::byte*>(value), 0);
  bytes = encoder.bytes();
  return done;
}

}  // namespace exs::rpc
