// From bytes of messages to values in the program.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "rpc/fast/codec.h"

namespace exs::rpc {
namespace {

class ValueDecoder {
 public:
  ValueDecoder(std::span<const std::byte> body, Placement placement, RequestArena* arena)
      : body_(body), placement_(placement), arena_(arena) {}

  Status take_fixed(std::size_t bytes) {
    if (bytes > body_.size()) return Status(EPROTO);
    cursor_ = bytes;
    return {};
  }
  Status get(const exs_rpc_type_t* type, std::size_t offset, std::byte* value, unsigned depth) {
    if (depth > kDepthMax) return Status(EPROTO);
    for (UnreadPart next{type, offset, value}; next.type != nullptr;) {
      const UnreadPart now = next;
      next.type = nullptr;
      if (const Status done = get_one(now, next, depth); !done.ok()) return done;
    }
    return {};
  }
  [[nodiscard]] bool is_at_end() const { return cursor_ == body_.size(); }

 private:
  struct UnreadPart {
    const exs_rpc_type_t* type;
    std::size_t offset;
    std::byte* value;
  };

  [[nodiscard]] const std::byte* at(std::size_t offset) const { return body_.data() + offset; }

  Status get_one(const UnreadPart& now, UnreadPart& next, unsigned depth) {
    switch (now.type->kind) {
      case EXS_RPC_FLAT: std::memcpy(now.value, at(now.offset), now.type->bytes); return {};
      case EXS_RPC_BOOL: return get_bool(now);
      case EXS_RPC_STRING: return get_string(now);
      case EXS_RPC_ARRAY:
        return get_elements(*now.type->element, now.type->most, now.offset, now.value, depth);
      case EXS_RPC_VECTOR: return get_vector(now, depth);
      case EXS_RPC_OPTIONAL: return get_optional(now, next);
      case EXS_RPC_STRUCT: return get_struct(now, next, depth);
      case EXS_RPC_UNION: return get_union(now, next);
      default: return Status(EPROTO);
    }
  }
  Status get_bool(const UnreadPart& now) {
    std::int32_t truth = 0;
    std::memcpy(&truth, at(now.offset), sizeof truth);
    if (truth != 0 && truth != 1) return Status(EPROTO);
    std::memcpy(now.value, &truth, sizeof truth);
    return {};
  }

  // The target of a reference must begin where the previous variable part has ended.
  Status follow(std::size_t from, std::size_t bytes_each, std::size_t alignment, std::size_t most,
                Reference& reference) {
    std::memcpy(&reference, at(from), sizeof reference);
    if (reference.count > most) return Status(EPROTO);
    if (reference.count == 0) return reference.offset == 0 ? Status() : Status(EPROTO);
    const std::size_t begin = rounded_up(cursor_, alignment);
    if (reference.offset != begin || begin > body_.size() ||
        bytes_each * reference.count > body_.size() - begin)
      return Status(EPROTO);
    cursor_ = begin + bytes_each * reference.count;
    return {};
  }

  Status get_string(const UnreadPart& now) {
    Reference reference{};
    if (const Status done = follow(now.offset, 1, 1, std::size_t{now.type->most} + 1, reference); !done.ok())
      return done;
    const std::byte* const text = at(reference.offset);
    if (reference.count == 0 || std::memchr(text, 0, reference.count) != text + reference.count - 1)
      return Status(EPROTO);
    std::byte* target = nullptr;
    std::memcpy(&target, now.value, sizeof target);
    if (placement_ == Placement::kInPlace) {
      if (target == nullptr || std::strlen(reinterpret_cast<char*>(target)) + 1 < reference.count)
        return Status(EMSGSIZE);
    } else if (placement_ == Placement::kView) {
      return set_view(text, now.value);
    } else if ((target = make(reference.count, now.value)) == nullptr) {
      return Status(ENOMEM);
    }
    std::memcpy(target, text, reference.count);
    return {};
  }

  Status get_vector(const UnreadPart& now, unsigned depth) {
    const exs_rpc_type_t& element = *now.type->element;
    Reference reference{};
    const Status done = follow(now.offset, element.bytes, element.alignment, now.type->most, reference);
    if (!done.ok()) return done;
    MemoryVector vector{};
    std::memcpy(&vector, now.value, sizeof vector);
    if (placement_ == Placement::kInPlace && reference.count > vector.count) return Status(EMSGSIZE);
    vector.count = reference.count;
    std::memcpy(now.value, &vector, sizeof vector);
    std::byte* const place = now.value + offsetof(MemoryVector, values);
    if (reference.count == 0) return {};
    if (placement_ == Placement::kView && element.kind == EXS_RPC_FLAT)
      return set_view(at(reference.offset), place);
    if (placement_ != Placement::kInPlace &&
        (vector.values = make(std::size_t{element.memory_bytes} * reference.count, place)) == nullptr)
      return Status(ENOMEM);
    return get_elements(element, reference.count, reference.offset, vector.values, depth);
  }

  Status get_elements(const exs_rpc_type_t& element, std::size_t count, std::size_t offset, std::byte* values,
                      unsigned depth) {
    if (element.kind == EXS_RPC_FLAT) {
      std::memcpy(values, at(offset), element.bytes * count);
      return {};
    }
    for (std::size_t i = 0; i < count; ++i) {
      const Status done =
          get(&element, offset + i * element.bytes, values + i * element.memory_bytes, depth + 1);
      if (!done.ok()) return done;
    }
    return {};
  }

  Status get_optional(const UnreadPart& now, UnreadPart& next) {
    const exs_rpc_type_t& element = *now.type->element;
    Reference reference{};
    const Status done = follow(now.offset, element.bytes, element.alignment, 1, reference);
    if (!done.ok()) return done;
    std::byte* target = nullptr;
    std::memcpy(&target, now.value, sizeof target);
    if (placement_ == Placement::kInPlace) {
      if ((target != nullptr) != (reference.count != 0)) return Status(EMSGSIZE);
    } else if (reference.count != 0 && (target = make(element.memory_bytes, now.value)) == nullptr) {
      return Status(ENOMEM);
    }
    if (reference.count != 0) next = {&element, reference.offset, target};
    return {};
  }

  Status get_struct(const UnreadPart& now, UnreadPart& next, unsigned depth) {
    const std::uint32_t last = last_varying(*now.type);
    for (std::uint32_t i = 0; i < now.type->parts_count; ++i) {
      const exs_rpc_part_t& part = now.type->parts[i];
      const UnreadPart inner{part.type, now.offset + part.offset, now.value + part.memory_offset};
      if (i == last) {
        next = inner;
      } else if (part.type->kind == EXS_RPC_FLAT) {
        std::memcpy(inner.value, at(inner.offset), part.type->bytes);
      } else if (const Status done = get(inner.type, inner.offset, inner.value, depth + 1); !done.ok()) {
        return done;
      }
    }
    return {};
  }

  Status get_union(const UnreadPart& now, UnreadPart& next) {
    std::int32_t value = 0;
    std::memcpy(&value, at(now.offset), sizeof value);
    const exs_rpc_part_t* const arm = find_arm(*now.type, value);
    if (arm == nullptr) return Status(EPROTO);
    // The memory in place belongs to another arm.
    if (placement_ == Placement::kInPlace && now.type->varies != 0 &&
        std::memcmp(now.value, &value, sizeof value) != 0)
      return Status(EMSGSIZE);
    std::memcpy(now.value, &value, sizeof value);
    if (arm->type != nullptr) next = {arm->type, now.offset + arm->offset, now.value + arm->memory_offset};
    return {};
  }

  // The memory is zero, so the value can be freed at any moment. `place` gets its address.
  std::byte* make(std::size_t bytes, std::byte* place) {
    auto* const made = static_cast<std::byte*>(placement_ == Placement::kView ? arena_->allocate(bytes)
                                                                              : std::calloc(1, bytes));
    std::memcpy(place, &made, sizeof made);
    return made;
  }
  static Status set_view(const std::byte* data, std::byte* place) {
    std::memcpy(place, &data, sizeof data);
    return {};
  }

  const std::span<const std::byte> body_;
  const Placement placement_;
  RequestArena* const arena_;
  std::size_t cursor_ = 0;
};

}  // namespace

Status decode(const exs_rpc_type_t& type, std::span<const std::byte> body, void* value, Placement placement,
              RequestArena* arena) {
  if (type.kind == EXS_RPC_FLAT) {
    if (body.size() != type.bytes) return Status(EPROTO);
    std::memcpy(value, body.data(), type.bytes);
    return {};
  }
  if (placement != Placement::kInPlace) std::memset(value, 0, type.memory_bytes);
  ValueDecoder decoder(body, placement, arena);
  Status done = decoder.take_fixed(type.bytes);
  if (done.ok()) done = decoder.get(&type, 0, static_cast<std::byte*>(value), 0);
  if (done.ok() && !decoder.is_at_end()) done = Status(EPROTO);
  if (!done.ok() && placement == Placement::kCopy) free_value(type, value);
  return done;
}

}  // namespace exs::rpc
