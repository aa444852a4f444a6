// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/generator/report.h"

#include <array>
#include <cstdio>

namespace exs::generator {
namespace {

std::string limit_of(const Type& type) {
  return type.count == kUnlimited ? std::string() : std::to_string(type.count);
}

std::string spelled(const Type* type) {
  if (type == nullptr) return "void";
  if (!type->name.empty()) return type->name;
  switch (type->kind) {
    case Type::Kind::kString: return "string<" + limit_of(*type) + ">";
    case Type::Kind::kVector: return spelled(type->element) + "<" + limit_of(*type) + ">";
    case Type::Kind::kArray: return spelled(type->element) + "[" + limit_of(*type) + "]";
    case Type::Kind::kOptional: return spelled(type->element) + "*";
    default: return "?";
  }
}

void add_part(std::string& text, std::uint64_t offset, const Field& field) {
  text += "  " + std::to_string(offset) + " " + field.name + ": " + spelled(field.type) + "\n";
}

void add_type(std::string& text, const Type& type) {
  text += "type " + type.name + ": " + std::to_string(type.bytes) + " bytes, alignment " +
          std::to_string(type.alignment) + (type.is_flat ? ", flat" : "") + (type.varies ? ", varies" : "") +
          "\n";
  for (const Field& field : type.fields) add_part(text, field.offset, field);
  for (const Arm& arm : type.arms)
    if (arm.field.type != nullptr) add_part(text, type.arms_offset, arm.field);
}

std::string hexadecimal(std::uint64_t value) {
  std::array<char, 17> digits{};
  std::snprintf(digits.data(), digits.size(), "%016llx", static_cast<unsigned long long>(value));
  return digits.data();
}

void add_procedure(std::string& text, const Procedure& procedure) {
  text += "  " + std::to_string(procedure.number) + " " + procedure.name + ": " + spelled(procedure.result) +
          " (";
  for (std::size_t i = 0; i < procedure.arguments.size(); ++i)
    text += (i == 0 ? "" : ", ") + spelled(procedure.arguments[i]);
  text += ")";
  if (procedure.is_inout) text += " @inout";
  if (procedure.is_inplace) text += " @inplace";
  if (procedure.is_oneway) text += " @oneway";
  if (procedure.is_idempotent) text += " @idempotent";
  text += ", hash " + hexadecimal(procedure.hash) + "\n";
}

}  // namespace

std::string report(const IdlInterface& interface) {
  std::string text;
  for (const auto& type : interface.types)
    if (type->is_defined_here) add_type(text, *type);
  for (const IdlProgram& program : interface.programs)
    for (const Version& version : program.versions) {
      text += "program " + program.name + " " + std::to_string(program.number) + ", version " + version.name +
              " " + std::to_string(version.number) + "\n";
      for (const Procedure& procedure : version.procedures) add_procedure(text, procedure);
    }
  return text;
}

}  // namespace exs::generator
