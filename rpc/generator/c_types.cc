// The types of an interface in C, as rpcgen writes them.
// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/generator/c_output.h"

namespace exs::generator {
namespace {

std::string c_enum(const Definition& definition) {
  std::string text = "enum " + definition.name + " {\n";
  for (const auto& [name, value] : definition.enumerators)
    text += "  " + name + " = " + std::to_string(value) + ",\n";
  return text + "};\ntypedef enum " + definition.name + " " + definition.name + ";\n";
}

std::string c_struct(const Definition& definition) {
  std::string text = "struct " + definition.name + " {\n";
  for (const Field& field : definition.type->fields)
    text += "  " + c_declaration(*field.type, field.name, "  ") + ";\n";
  return text + "};\n";
}

std::string c_union(const Definition& definition) {
  std::string arms;
  for (const Arm& arm : definition.type->arms)
    if (arm.field.type != nullptr)
      arms += "    " + c_declaration(*arm.field.type, arm.field.name, "    ") + ";\n";
  const Field& discriminant = definition.type->fields.front();
  std::string text =
      "struct " + definition.name + " {\n  " + c_declaration(*discriminant.type, discriminant.name) + ";\n";
  if (!arms.empty()) text += "  union {\n" + arms + "  } " + definition.name + "_u;\n";
  return text + "};\n";
}

}  // namespace

// Structs and unions are declared first, so that members may point to them.
std::string c_types(const IdlInterface& interface) {
  std::string text;
  for (const Definition& definition : interface.definitions)
    if (definition.kind == Definition::Kind::kStruct || definition.kind == Definition::Kind::kUnion)
      text += "typedef struct " + definition.name + " " + definition.name + ";\n";
  for (const Definition& definition : interface.definitions) {
    if (definition.kind != Definition::Kind::kPassed) text += "\n";
    switch (definition.kind) {
      case Definition::Kind::kConstant:
        text += "#define " + definition.name + " " + definition.text + "\n";
        break;
      case Definition::Kind::kEnum: text += c_enum(definition); break;
      case Definition::Kind::kStruct: text += c_struct(definition); break;
      case Definition::Kind::kUnion: text += c_union(definition); break;
      case Definition::Kind::kTypedef:
        text += "typedef " + c_declaration(*definition.type, definition.name) + ";\n";
        break;
      case Definition::Kind::kPassed: text += definition.text + "\n"; break;
    }
  }
  return text;
}

}  // namespace exs::generator
