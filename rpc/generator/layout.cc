// Offsets of types in messages, and the hash of a procedure.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "rpc/generator/model.h"

namespace exs::generator {
namespace {

constexpr std::uint64_t kReferenceBytes = 8;  // offset and count
constexpr std::uint64_t kReferenceAlignment = 4;

void lay_out_struct(Type& type) {
  std::uint64_t used = 0;
  type.is_flat = true;
  for (Field& field : type.fields) {
    const Type& part = *field.type;
    field.offset = rounded_up(type.bytes, part.alignment);
    type.bytes = field.offset + part.bytes;
    type.alignment = std::max(type.alignment, part.alignment);
    type.is_flat = type.is_flat && part.is_flat;
    type.varies = type.varies || part.varies;
    used += part.bytes;
  }
  type.bytes = rounded_up(type.bytes, type.alignment);
  type.is_flat = type.is_flat && used == type.bytes;
}

void lay_out_union(Type& type) {
  std::uint64_t largest = 0;
  std::uint64_t alignment = 1;
  for (const Arm& arm : type.arms) {
    if (arm.field.type == nullptr) continue;
    largest = std::max(largest, arm.field.type->bytes);
    alignment = std::max(alignment, arm.field.type->alignment);
    type.varies = type.varies || arm.field.type->varies;
  }
  constexpr std::uint64_t kDiscriminantBytes = 4;
  type.alignment = std::max(alignment, kDiscriminantBytes);
  type.arms_offset = rounded_up(kDiscriminantBytes, alignment);
  type.bytes = rounded_up(type.arms_offset + largest, type.alignment);
}

unsigned levels_of(const Type& type) {
  unsigned inside = type.element == nullptr ? 0 : type.element->levels;
  for (const Field& field : type.fields) inside = std::max(inside, field.type->levels);
  for (const Arm& arm : type.arms)
    if (arm.field.type != nullptr) inside = std::max(inside, arm.field.type->levels);
  return inside + 1;
}

// Describes types as messages see them: without names, each defined type in full at its first use.
class Canon {
 public:
  void add(const Type* type) {
    if (type == nullptr) return put("v");
    if (type->original != nullptr) type = type->original;
    const auto known = std::find(seen_.begin(), seen_.end(), type);
    if (known != seen_.end()) return put("#", static_cast<std::uint64_t>(known - seen_.begin()));
    if (type->kind == Type::Kind::kStruct || type->kind == Type::Kind::kUnion) seen_.push_back(type);
    switch (type->kind) {
      case Type::Kind::kScalar:
        return put(type->scalar == Type::Scalar::kInt        ? "i"
                   : type->scalar == Type::Scalar::kUnsigned ? "u"
                   : type->scalar == Type::Scalar::kFloat    ? "f"
                                                             : "o",
                   type->bytes);
      case Type::Kind::kBool: return put("b");
      case Type::Kind::kEnum: return add_enum(*type);
      case Type::Kind::kString: return put("s", type->count);
      case Type::Kind::kArray: put("a", type->count); return add(type->element);
      case Type::Kind::kVector: put("l", type->count); return add(type->element);
      case Type::Kind::kOptional: put("p"); return add(type->element);
      case Type::Kind::kStruct:
        put("t{");
        for (const Field& field : type->fields) add(field.type);
        return put("}");
      case Type::Kind::kUnion: return add_union(*type);
    }
  }
  void put(const char* text) {
    for (; *text != '\0'; ++text) hash_ = (hash_ ^ static_cast<unsigned char>(*text)) * kPrime;
  }
  void put(const char* text, std::uint64_t number) {
    put(text);
    put(std::to_string(number).c_str());
    put(";");
  }
  [[nodiscard]] std::uint64_t hash() const { return hash_; }

 private:
  void add_enum(const Type& type) {
    std::vector<std::int64_t> values = type.values;
    std::sort(values.begin(), values.end());
    put("e{");
    for (const std::int64_t value : values) put("", static_cast<std::uint64_t>(value));
    put("}");
  }
  void add_union(const Type& type) {
    put("c{");
    add(type.fields.front().type);
    for (const Arm& arm : type.arms) {
      for (const std::int64_t value : arm.values) put("=", static_cast<std::uint64_t>(value));
      if (arm.values.empty()) put("*");
      add(arm.field.type);
    }
    put("}");
  }

  static constexpr std::uint64_t kPrime = 0x100000001b3;  // of 64-bit FNV-1a
  std::uint64_t hash_ = 0xcbf29ce484222325;
  std::vector<const Type*> seen_;
};

}  // namespace

bool lay_out(Type& type) {
  switch (type.kind) {
    case Type::Kind::kScalar:
      type.alignment = type.bytes;
      type.is_flat = true;
      break;
    case Type::Kind::kEnum: type.is_flat = true; [[fallthrough]];
    case Type::Kind::kBool: type.bytes = type.alignment = 4; break;
    case Type::Kind::kString:
    case Type::Kind::kVector:
    case Type::Kind::kOptional:
      type.bytes = kReferenceBytes;
      type.alignment = kReferenceAlignment;
      type.varies = true;
      break;
    case Type::Kind::kArray:
      if (type.count > kTypeBytesMax || type.element->bytes * type.count > kTypeBytesMax) return false;
      type.bytes = type.element->bytes * type.count;
      type.alignment = type.element->alignment;
      type.is_flat = type.element->is_flat;
      type.varies = type.element->varies;
      break;
    case Type::Kind::kStruct: lay_out_struct(type); break;
    case Type::Kind::kUnion: lay_out_union(type); break;
  }
  type.levels = levels_of(type);
  return type.bytes <= kTypeBytesMax && type.levels <= kLevelsMax;
}

std::uint64_t hash_of(const Procedure& procedure) {
  Canon canon;
  canon.put(procedure.is_oneway ? "oneway(" : "(");
  canon.add(procedure.argument);
  canon.put(")");
  canon.add(procedure.result);
  return canon.hash();
}

}  // namespace exs::generator
