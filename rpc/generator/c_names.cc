// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/generator/c_names.h"

#include <algorithm>
#include <cctype>

namespace exs::generator {
namespace {

constexpr std::uint64_t kPointerBytes = 8;
constexpr MemoryLayout kPointer{kPointerBytes, kPointerBytes};
constexpr MemoryLayout kVector{2 * kPointerBytes, kPointerBytes};  // number and pointer

std::string c_basic_word(const std::string& word) {
  struct Pair {
    const char* rpcl;
    const char* c;
  };
  constexpr Pair kWords[] = {{"hyper", "int64_t"},
                             {"unsigned hyper", "uint64_t"},
                             {"bool", "int"},
                             {"bool_t", "int"},
                             {"u_int", "unsigned int"},
                             {"u_long", "unsigned long"},
                             {"u_short", "unsigned short"},
                             {"u_char", "unsigned char"},
                             {"opaque", "char"},
                             {"string", "char *"}};
  for (const Pair& pair : kWords)
    if (word == pair.rpcl) return pair.c;
  return word;
}

MemoryLayout layout_of_members(const Type& type) {
  MemoryLayout layout;
  for (const Field& field : type.fields) {
    const MemoryLayout part = memory_layout(*field.type);
    layout.bytes = rounded_up(layout.bytes, part.alignment) + part.bytes;
    layout.alignment = std::max(layout.alignment, part.alignment);
  }
  MemoryLayout arms;
  for (const Arm& arm : type.arms) {
    if (arm.field.type == nullptr) continue;
    const MemoryLayout part = memory_layout(*arm.field.type);
    arms.bytes = std::max(arms.bytes, part.bytes);
    arms.alignment = std::max(arms.alignment, part.alignment);
  }
  layout.alignment = std::max(layout.alignment, arms.alignment);
  layout.bytes = rounded_up(rounded_up(layout.bytes, arms.alignment) + arms.bytes, layout.alignment);
  return layout;
}

}  // namespace

std::string lower_case(const std::string& text) {
  std::string lower = text;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}
std::string upper_case(const std::string& text) {
  std::string upper = text;
  std::transform(upper.begin(), upper.end(), upper.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return upper;
}

std::string c_word(const Type& type) {
  if (type.is_defined_here) return type.name;
  if (type.name.empty()) return type.kind == Type::Kind::kString ? "char *" : "";
  return c_basic_word(type.name);
}

std::string c_declaration(const Type& type, const std::string& name, const std::string& indent) {
  if (type.name.empty()) {
    switch (type.kind) {
      case Type::Kind::kString: return "char *" + name;
      case Type::Kind::kOptional: return c_declaration(*type.element, "*" + name);
      case Type::Kind::kArray:
        return c_declaration(*type.element, name + "[" + std::to_string(type.count) + "]");
      default:
        return "struct {\n" + indent + "  unsigned int " + name + "_len;\n" + indent + "  " +
               c_declaration(*type.element, "*" + name + "_val") + ";\n" + indent + "} " + name;
    }
  }
  const std::string word = c_word(type);
  return word + (word.back() == '*' ? "" : " ") + name;
}

std::string c_size(const Type& type) {
  if (!type.name.empty()) return "sizeof(" + c_word(type) + ")";
  switch (type.kind) {
    case Type::Kind::kArray: return std::to_string(type.count) + " * " + c_size(*type.element);
    case Type::Kind::kVector: return "sizeof(struct exs_vector)";
    default: return "sizeof(void *)";
  }
}

MemoryLayout memory_layout(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kString:
    case Type::Kind::kOptional: return kPointer;
    case Type::Kind::kVector: return kVector;
    case Type::Kind::kArray: {
      const MemoryLayout element = memory_layout(*type.element);
      return {element.bytes * type.count, element.alignment};
    }
    case Type::Kind::kStruct:
    case Type::Kind::kUnion: return layout_of_members(type);
    default: return {type.bytes, type.alignment};
  }
}

std::string function_name(const Spelling& spelling, const Procedure& procedure, const Version& version) {
  return (spelling.has_own_types ? "" : "exs_") + lower_case(procedure.name) + "_" +
         std::to_string(version.number);
}

std::string version_name(const Spelling& spelling, const IdlProgram& program, const Version& version) {
  return (spelling.has_own_types ? "" : "exs_") + lower_case(program.name) + "_" + lower_case(version.name);
}

std::string guard_of(const Spelling& spelling, const std::string& ending) {
  std::string guard = upper_case(spelling.name) + "_EXS_" + ending;
  for (char& c : guard)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  return guard;
}

std::string free_name(const Spelling& spelling, const Type& type) {
  return (spelling.has_own_types ? "" : "exs_") + type.name + "_free";
}

bool is_passed_by_value(const Type& type) {
  return type.kind == Type::Kind::kScalar || type.kind == Type::Kind::kBool ||
         type.kind == Type::Kind::kEnum || type.kind == Type::Kind::kString;
}

}  // namespace exs::generator
