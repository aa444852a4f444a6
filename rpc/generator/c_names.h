// Names and spelling of an interface in C: types as rpcgen makes them, functions by procedure and version. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "rpc/generator/model.h"

namespace exs::generator {

struct Spelling {
  bool has_own_types = true;  // false: rpcgen's header defines the types, and our functions begin with exs_
  std::string name;           // of the interface's file, without its ending
};

std::string lower_case(const std::string& text);
std::string upper_case(const std::string& text);

// "unsigned int", "struct of it", "char *".
std::string c_word(const Type& type);
// "char *name", "struct { unsigned int name_len; int *name_val; } name".
std::string c_declaration(const Type& type, const std::string& name, const std::string& indent = "");
// "sizeof(...)" as an expression.
std::string c_size(const Type& type);

// Size and alignment of a type in the program, on machines where int has 4 bytes and pointers have 8.
struct MemoryLayout {
  std::uint64_t bytes = 0;
  std::uint64_t alignment = 1;
};
MemoryLayout memory_layout(const Type& type);

// "list_1", "dir_one", "dir_one_list_arguments".
std::string function_name(const Spelling& spelling, const Procedure& procedure, const Version& version);
std::string version_name(const Spelling& spelling, const IdlProgram& program, const Version& version);
// "DEMO_EXS_H".
std::string guard_of(const Spelling& spelling, const std::string& ending);
std::string free_name(const Spelling& spelling, const Type& type);

// Values of such types are arguments themselves; of others, pointers to them.
bool is_passed_by_value(const Type& type);

}  // namespace exs::generator
