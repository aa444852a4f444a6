// The definitions of an interface, with the layout of its types in messages (rpc/FORMAT.md).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace exs::generator {

struct Type;

struct Field {
  std::string name;
  const Type* type = nullptr;  // NULL: a void arm
  std::uint64_t offset = 0;    // in messages
};

// An arm of a union, for one or more values of its discriminant.
struct Arm {
  std::vector<std::int64_t> values;  // empty: the default
  std::vector<std::string> labels;   // as written
  Field field;
};

struct Type {
  enum class Kind : std::uint8_t {
    kScalar,
    kBool,
    kEnum,
    kString,
    kArray,
    kVector,
    kOptional,
    kStruct,
    kUnion
  };
  enum class Scalar : std::uint8_t { kInt, kUnsigned, kFloat, kOpaque };

  Kind kind = Kind::kScalar;
  Scalar scalar = Scalar::kInt;
  std::string name;                // of its definition, or of a word of the language; empty: none
  bool is_defined_here = false;    // by the interface
  bool is_complete = true;         // false: only pointers to it can be declared
  const Type* original = nullptr;  // the type that a typedef renames
  const Type* element = nullptr;   // of arrays, vectors, optionals
  std::uint64_t count = 0;         // of an array; the limit of a vector or string
  std::vector<Field> fields;       // of a struct; of a union: its discriminant
  std::vector<Arm> arms;
  std::vector<std::int64_t> values;  // of an enum

  // In messages:
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
  std::uint64_t arms_offset = 0;  // of a union
  bool is_flat = false;           // no padding, no variable part, nothing to check: copied as it is
  bool varies = false;            // it has a variable part
  unsigned levels = 1;            // of nested types, including those of variable parts
};

// A definition, in the interface's order, for the header. `text` belongs to constants and passed lines.
struct Definition {
  enum class Kind : std::uint8_t { kConstant, kEnum, kStruct, kUnion, kTypedef, kPassed };
  Kind kind = Kind::kConstant;
  std::string name;
  std::string text;  // of a constant: its value; of a passed line: the line
  const Type* type = nullptr;
  std::vector<std::pair<std::string, std::int64_t>> enumerators;
};

struct Procedure {
  std::string name;
  std::int64_t number = 0;
  std::vector<const Type*> arguments;  // empty: void
  const Type* argument = nullptr;      // of all; several arguments form a struct
  const Type* result = nullptr;        // NULL: void
  bool is_inout = false;
  bool is_inplace = false;
  bool is_oneway = false;
  bool is_idempotent = false;
  std::uint64_t hash = 0;  // of its types and modes
};

struct Version {
  std::string name;
  std::int64_t number = 0;
  std::vector<Procedure> procedures;
};

struct IdlProgram {
  std::string name;
  std::int64_t number = 0;
  std::vector<Version> versions;
};

struct IdlInterface {
  std::vector<std::unique_ptr<Type>> types;
  std::vector<Definition> definitions;
  std::vector<IdlProgram> programs;
};

inline constexpr std::uint64_t kTypeBytesMax = std::uint64_t{1} << 30U;
inline constexpr unsigned kLevelsMax = 200;
inline constexpr std::uint64_t kUnlimited = UINT32_MAX;

inline std::uint64_t rounded_up(std::uint64_t bytes, std::uint64_t alignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}
// Computes the layout from the layouts of the parts. Returns false if the type would be too large or too deep.
bool lay_out(Type& type);
// Procedures with equal hashes understand each other's messages.
std::uint64_t hash_of(const Procedure& procedure);

}  // namespace exs::generator
