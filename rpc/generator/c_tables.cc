// The tables that describe types to libexs-rpc.
// SPDX-License-Identifier: BSD-2-Clause
#include <map>
#include <vector>

#include "rpc/generator/c_output.h"

namespace exs::generator {
namespace {

// Members of a struct that are adjacent in messages and in memory, and are copied as one.
struct Run {
  std::size_t first;
  std::size_t last;
  std::uint64_t bytes;
};

class Tables {
 public:
  // Returns the name of a type's table, and makes the table on the first call. "NULL" for no type.
  std::string of(const Type* type) {
    if (type == nullptr) return "NULL";
    std::string& name = names_[type];
    if (!name.empty()) return name;
    name = "type_" + std::to_string(names_.size()) + (type->is_defined_here ? "_" + type->name : "");
    asked_.push_back(type);
    return name;
  }
  [[nodiscard]] std::string text() {
    for (std::size_t i = 0; i < asked_.size(); ++i) add(*asked_[i]);
    return forward_ + "\n" + text_;
  }

 private:
  void add(const Type& type) {
    const std::string name = of(&type);
    if (type.is_flat) return add_flat(name, type);
    switch (type.kind) {
      case Type::Kind::kStruct: return add_struct(name, type);
      case Type::Kind::kUnion: return add_union(name, type);
      default: return add_plain(name, type);
    }
  }
  void add_flat(const std::string& name, const Type& type) {
    declare(name);
    text_ += "static const exs_rpc_type_t " + name + " = {EXS_RPC_FLAT, " + std::to_string(type.alignment) +
             ", 0, 0, " + std::to_string(type.bytes) + ", " + std::to_string(type.bytes) +
             ", 0, NULL, NULL, 0};\n";
    if (!type.name.empty())
      text_ += "_Static_assert(" + c_size(type) + " == " + std::to_string(type.bytes) + ", \"" + type.name +
               "\");\n";
  }
  void add_plain(const std::string& name, const Type& type) {
    const char* kind = type.kind == Type::Kind::kBool     ? "EXS_RPC_BOOL"
                       : type.kind == Type::Kind::kString ? "EXS_RPC_STRING"
                       : type.kind == Type::Kind::kArray  ? "EXS_RPC_ARRAY"
                       : type.kind == Type::Kind::kVector ? "EXS_RPC_VECTOR"
                                                          : "EXS_RPC_OPTIONAL";
    // A string has one NUL more in messages, and its length there is a 32-bit number.
    const std::uint64_t most =
        type.kind == Type::Kind::kString && type.count == kUnlimited ? kUnlimited - 1 : type.count;
    add_table(name, kind, type, false, std::to_string(most) + "u", of(type.element), "", 0);
  }
  void add_table(const std::string& name, const std::string& kind, const Type& type, bool has_default,
                 const std::string& most, const std::string& element, const std::string& parts,
                 std::size_t parts_count) {
    declare(name);
    const std::string parts_name = parts.empty() ? "NULL" : name + "_parts";
    if (!parts.empty()) text_ += "static const exs_rpc_part_t " + parts_name + "[] = {\n" + parts + "};\n";
    text_ += "static const exs_rpc_type_t " + name + " = {" + kind + ", " + std::to_string(type.alignment) +
             ", " + (has_default ? "1" : "0") + ", " + (type.varies ? "1" : "0") + ", " +
             std::to_string(type.bytes) + ", " + c_size(type) + ", " + most + ", " +
             (element == "NULL" ? "NULL" : "&" + element) + ", " + parts_name + ", " +
             std::to_string(parts_count) + "};\n";
  }
  void declare(const std::string& name) { forward_ += "static const exs_rpc_type_t " + name + ";\n"; }

  std::string part(const std::string& type, std::uint64_t offset, const std::string& memory_offset,
                   std::int64_t value) {
    return "  {" + (type == "NULL" ? type : "&" + type) + ", " + std::to_string(offset) + ", " +
           memory_offset + ", " + std::to_string(value) + "},\n";
  }

  void add_struct(const std::string& name, const Type& type) {
    std::string parts;
    std::size_t count = 0;
    const std::vector<std::uint64_t> memory = memory_offsets(type);
    for (std::size_t i = 0; i < type.fields.size(); ++count) {
      const Run run = run_from(type, memory, i);
      const Field& first = type.fields[run.first];
      std::string table = of(first.type);
      if (run.last > run.first) table = add_run(name, count, type, run);
      parts += part(table, first.offset, "offsetof(" + type.name + ", " + first.name + ")", 0);
      i = run.last + 1;
    }
    add_table(name, "EXS_RPC_STRUCT", type, false, "0", "NULL", parts, count);
  }
  static std::vector<std::uint64_t> memory_offsets(const Type& type) {
    std::vector<std::uint64_t> offsets;
    std::uint64_t end = 0;
    for (const Field& field : type.fields) {
      const MemoryLayout layout = memory_layout(*field.type);
      offsets.push_back((end + layout.alignment - 1) / layout.alignment * layout.alignment);
      end = offsets.back() + layout.bytes;
    }
    return offsets;
  }
  static Run run_from(const Type& type, const std::vector<std::uint64_t>& memory, std::size_t first) {
    Run run{first, first, type.fields[first].type->bytes};
    if (!type.fields[first].type->is_flat) return run;
    for (std::size_t i = first + 1; i < type.fields.size() && type.fields[i].type->is_flat; ++i) {
      if (type.fields[i].offset != type.fields[first].offset + run.bytes ||
          memory[i] != memory[first] + run.bytes)
        break;
      run.bytes += type.fields[i].type->bytes;
      run.last = i;
    }
    return run;
  }
  std::string add_run(const std::string& name, std::size_t number, const Type& type, const Run& run) {
    Type flat;
    flat.bytes = run.bytes;
    std::string run_name = name + "_run" + std::to_string(number);
    add_flat(run_name, flat);
    const Field& last = type.fields[run.last];
    text_ += "_Static_assert(offsetof(" + type.name + ", " + last.name + ") - offsetof(" + type.name + ", " +
             type.fields[run.first].name + ") == " + std::to_string(run.bytes - last.type->bytes) + ", \"" +
             type.name + "\");\n";
    return run_name;
  }

  void add_union(const std::string& name, const Type& type) {
    std::string parts;
    std::size_t count = 0;
    for (const Arm& arm : type.arms) {
      const std::string table = of(arm.field.type);
      const std::string offset =
          arm.field.type == nullptr ? "0" : "offsetof(" + type.name + ", " + type.name + "_u)";
      const std::vector<std::int64_t> values = arm.values.empty() ? std::vector<std::int64_t>{0} : arm.values;
      for (const std::int64_t value : values) parts += part(table, type.arms_offset, offset, value);
      count += values.size();
    }
    const bool has_default = type.arms.back().values.empty();
    add_table(name, "EXS_RPC_UNION", type, has_default, "0", "NULL", parts, count);
  }

  std::map<const Type*, std::string> names_;
  std::vector<const Type*> asked_;
  std::string forward_;
  std::string text_;
};

std::string c_procedures(const IdlProgram& program, const Version& version, const Spelling& spelling,
                         Tables& tables) {
  const std::string name = version_name(spelling, program, version);
  std::string text = "\nstatic const exs_rpc_procedure_t " + name + "_procedures[] = {\n";
  const auto pointer = [&](const Type* type) { return type == nullptr ? "NULL" : "&" + tables.of(type); };
  for (const Procedure& procedure : version.procedures) {
    const unsigned flags = (procedure.is_inout ? 1U : 0U) | (procedure.is_oneway ? 2U : 0U) |
                           (procedure.is_idempotent ? 4U : 0U);
    text += "  {\"" + procedure.name + "\", " + std::to_string(procedure.number) + "u, " +
            std::to_string(flags) + ", " + std::to_string(procedure.hash) + "u, " +
            pointer(procedure.argument) + ", " + pointer(procedure.result) + "},\n";
  }
  return text + "};\nconst exs_rpc_interface_t " + name + "_interface = {\"" + program.name + "." +
         version.name + "\", " + std::to_string(program.number) + "u, " + std::to_string(version.number) +
         "u, " + std::to_string(version.procedures.size()) + ", " + name + "_procedures};\n";
}

}  // namespace

std::string c_tables(const IdlInterface& interface, const Spelling& spelling) {
  Tables tables;
  std::string text;
  for (const IdlProgram& program : interface.programs)
    for (const Version& version : program.versions) text += c_procedures(program, version, spelling, tables);
  for (const auto& type : interface.types)
    if (type->is_defined_here && type->varies)
      text += "\nvoid " + free_name(spelling, *type) + "(" + type->name + " *value) {\n  exs_rpc_free(&" +
              tables.of(type.get()) + ", value);\n}\n";
  return "struct exs_vector {\n  unsigned int count;\n  void *values;\n};\n\n" + tables.text() + text;
}

}  // namespace exs::generator
