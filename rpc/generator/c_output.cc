// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/generator/c_output.h"

#include <cctype>

namespace exs::generator {
namespace {

constexpr const char* kNotice = "/* Made by exs-rpcgen: change the interface instead. */\n";

struct ProcedurePlace {
  const IdlProgram& program;
  const Version& version;
  const Procedure& procedure;
};

template <typename Function>
std::string for_each_procedure(const IdlInterface& interface, Function&& text_of) {
  std::string text;
  for (const IdlProgram& program : interface.programs)
    for (const Version& version : program.versions)
      for (const Procedure& procedure : version.procedures)
        text += text_of(ProcedurePlace{program, version, procedure});
  return text;
}
template <typename Function>
std::string for_each_version(const IdlInterface& interface, Function&& text_of) {
  std::string text;
  for (const IdlProgram& program : interface.programs)
    for (const Version& version : program.versions) text += text_of(program, version);
  return text;
}

std::string parameter(const Type& type, const std::string& name) {
  if (type.kind == Type::Kind::kString) return "const char *" + name;
  if (is_passed_by_value(type)) return c_declaration(type, name);
  return "const " + c_declaration(type, "*" + name);
}

std::string parameter_name(const Procedure& procedure, std::size_t index) {
  return procedure.arguments.size() == 1 ? "argument" : "argument" + std::to_string(index + 1);
}

bool has_many(const Procedure& procedure) {
  return procedure.arguments.size() > 1;
}

// The struct that holds several arguments.
std::string c_argument_struct(const ProcedurePlace& place) {
  if (!has_many(place.procedure)) return "";
  const Type& type = *place.procedure.argument;
  std::string text = "typedef struct " + type.name + " {\n";
  for (const Field& field : type.fields) text += "  " + c_declaration(*field.type, field.name) + ";\n";
  return text + "} " + type.name + ";\n";
}

std::string stub_head(const ProcedurePlace& place, const Spelling& spelling) {
  return "int " + function_name(spelling, place.procedure, place.version) + "(exs_rpc_client_t *client, " +
         c_parameters(place.procedure) + c_results(place.procedure) + "exs_rpc_context_t *context)";
}
std::string begin_head(const ProcedurePlace& place, const Spelling& spelling) {
  const std::string parameters = place.procedure.is_inout
                                     ? parameter(*place.procedure.argument, "argument") + ", "
                                     : c_parameters(place.procedure);
  return "exs_rpc_call_t *" + function_name(spelling, place.procedure, place.version) +
         "_begin(exs_rpc_client_t *client, " + parameters + "exs_rpc_context_t *context)";
}
std::string end_head(const ProcedurePlace& place, const Spelling& spelling) {
  const std::string result =
      place.procedure.result == nullptr ? "" : ", " + c_declaration(*place.procedure.result, "*result");
  return "int " + function_name(spelling, place.procedure, place.version) + "_end(exs_rpc_call_t *call" +
         result + ")";
}
std::string serve_head(const ProcedurePlace& place, const Spelling& spelling) {
  return "int " + function_name(spelling, place.procedure, place.version) + "_serve(" +
         c_parameters(place.procedure) + c_results(place.procedure) + "exs_rpc_request_t *request)";
}

std::string c_stub_prototypes(const ProcedurePlace& place, const Spelling& spelling) {
  std::string text = stub_head(place, spelling) + ";\n";
  if (!place.procedure.is_oneway)
    text += begin_head(place, spelling) + ";\n" + end_head(place, spelling) + ";\n";
  return text;
}

std::string c_version_prototypes(const IdlProgram& program, const Version& version,
                                 const Spelling& spelling) {
  const std::string name = version_name(spelling, program, version);
  return "\n/* " + program.name + ", version " + version.name + " */\nextern const exs_rpc_interface_t " +
         name + "_interface;\nextern const exs_rpc_service_t " + name +
         "_service; /* of the server's side */\n" + "static inline exs_rpc_client_t *" + name +
         "_open(const char *host, const char *port, const exs_rpc_client_options_t *options) {\n"
         "  return exs_rpc_open(host, port, &" +
         name + "_interface, options);\n}\n";
}

// The statement that puts an argument into its member of the struct of all.
std::string copy_of_argument(const Type& type, const std::string& member, const std::string& name) {
  std::string statement = "  ";
  if (type.kind == Type::Kind::kString)
    return statement.append(member).append(" = (char *)").append(name).append(";\n");
  if (is_passed_by_value(type)) return statement.append(member).append(" = ").append(name).append(";\n");
  return statement.append("memcpy(&")
      .append(member)
      .append(", ")
      .append(name)
      .append(", sizeof ")
      .append(member)
      .append(");\n");
}

// Returns an expression for the address of the argument; `before` gets the lines that it needs.
std::string argument_address(const Procedure& procedure, std::string& before) {
  if (procedure.argument == nullptr) return "NULL";
  if (!has_many(procedure)) return is_passed_by_value(*procedure.argument) ? "&argument" : "argument";
  const Type& type = *procedure.argument;
  before = "  " + type.name + " arguments;\n";
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    const std::string member = "arguments." + type.fields[i].name;
    const std::string name = parameter_name(procedure, i);
    before += copy_of_argument(*type.fields[i].type, member, name);
  }
  return "&arguments";
}

std::string c_stub(const ProcedurePlace& place, const Spelling& spelling, std::size_t index) {
  const Procedure& procedure = place.procedure;
  const std::string number = std::to_string(index);
  std::string before;
  const std::string address = argument_address(procedure, before);
  const std::string argument = procedure.is_inout ? "inout" : address;
  const std::string result = procedure.is_inout ? "inout" : procedure.result == nullptr ? "NULL" : "result";
  std::string text = "\n" + stub_head(place, spelling) + " {\n" + before +
                     "  return exs_rpc_invoke(client, " + number + ", " + argument + ", " + result +
                     ", context);\n}\n";
  if (procedure.is_oneway) return text;
  text += begin_head(place, spelling) + " {\n" + before + "  return exs_rpc_begin(client, " + number + ", " +
          address + ", context);\n}\n";
  return text + end_head(place, spelling) + " {\n  return exs_rpc_end(call, " +
         (procedure.result == nullptr ? "NULL" : "result") + ");\n}\n";
}

// Returns the argument of the server's procedure, read from its address.
std::string served_argument(const Type& type, const std::string& address) {
  if (type.kind == Type::Kind::kString) return "*(char **)" + address + ", ";
  if (is_passed_by_value(type)) return "*(" + c_word(type) + " *)" + address + ", ";
  return "(const " + c_word(type) + " *)" + address + ", ";
}

std::string c_serve(const ProcedurePlace& place, const Spelling& spelling) {
  const Procedure& procedure = place.procedure;
  std::string text = "static int serve_" + function_name(spelling, procedure, place.version) +
                     "(void *argument, void *result, exs_rpc_request_t *request) {\n";
  std::string given;
  if (procedure.is_inout) {
    given = "argument, ";
  } else if (has_many(procedure)) {
    text += "  " + procedure.argument->name + " *arguments = argument;\n";
    for (const Field& field : procedure.argument->fields)
      given += served_argument(*field.type, "&arguments->" + field.name);
  } else if (procedure.argument != nullptr) {
    given = served_argument(*procedure.argument, "argument");
  }
  if (procedure.argument == nullptr) text += "  (void)argument;\n";
  if (procedure.result == nullptr || procedure.is_inout) {
    text += "  (void)result;\n";
  } else {
    given += "result, ";
  }
  return text + "  return " + function_name(spelling, procedure, place.version) + "_serve(" + given +
         "request);\n}\n";
}

}  // namespace

std::string c_parameters(const Procedure& procedure) {
  if (procedure.is_inout) return c_declaration(*procedure.argument, "*inout") + ", ";
  std::string text;
  for (std::size_t i = 0; i < procedure.arguments.size(); ++i)
    text += parameter(*procedure.arguments[i], parameter_name(procedure, i)) + ", ";
  return text;
}

std::string c_parameter_names(const Procedure& procedure) {
  if (procedure.is_inout) return "inout, ";
  std::string text;
  for (std::size_t i = 0; i < procedure.arguments.size(); ++i) text += parameter_name(procedure, i) + ", ";
  return text;
}

std::string c_results(const Procedure& procedure) {
  if (procedure.result == nullptr || procedure.is_inout) return "";
  return c_declaration(*procedure.result, "*result") + ", ";
}

std::string c_header(const IdlInterface& interface, const Spelling& spelling) {
  const std::string guard = guard_of(spelling, "H");
  std::string text = kNotice;
  text += "#ifndef " + guard + "\n#define " + guard + "\n\n#include <exs/rpc.h>\n#include <stdint.h>\n\n";
  if (!spelling.has_own_types) text += "#include \"" + spelling.name + ".h\"\n";
  text += "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  if (spelling.has_own_types) text += c_types(interface) + "\n";
  text += for_each_procedure(interface, c_argument_struct);
  for (const auto& type : interface.types)
    if (type->is_defined_here && type->varies)
      text += "void " + free_name(spelling, *type) + "(" + type->name + " *value);\n";
  for (const IdlProgram& program : interface.programs)
    for (const Version& version : program.versions) {
      text += c_version_prototypes(program, version, spelling);
      for (const Procedure& procedure : version.procedures)
        text += c_stub_prototypes({program, version, procedure}, spelling);
      text += "/* The server defines: */\n";
      for (const Procedure& procedure : version.procedures)
        text += serve_head({program, version, procedure}, spelling) + ";\n";
    }
  return text + "\n#ifdef __cplusplus\n}\n#endif\n#endif\n";
}

std::string c_source(const IdlInterface& interface, const Spelling& spelling) {
  std::string text = kNotice;
  text += "#include \"" + spelling.name + "_exs.h\"\n\n#include <stddef.h>\n#include <string.h>\n\n" +
          c_tables(interface, spelling);
  return text + for_each_version(interface, [&](const IdlProgram& program, const Version& version) {
           std::string stubs;
           for (std::size_t i = 0; i < version.procedures.size(); ++i)
             stubs += c_stub({program, version, version.procedures[i]}, spelling, i);
           return stubs;
         });
}

std::string c_service(const IdlInterface& interface, const Spelling& spelling) {
  std::string text = kNotice;
  text += "#include <stddef.h>\n\n#include \"" + spelling.name + "_exs.h\"\n\n";
  text +=
      for_each_procedure(interface, [&](const ProcedurePlace& place) { return c_serve(place, spelling); });
  return text + for_each_version(interface, [&](const IdlProgram& program, const Version& version) {
           const std::string name = version_name(spelling, program, version);
           std::string table = "\nstatic const exs_rpc_serve_t " + name + "_procedures[] = {\n";
           for (const Procedure& procedure : version.procedures)
             table += "  serve_" + function_name(spelling, procedure, version) + ",\n";
           return table + "};\nconst exs_rpc_service_t " + name + "_service = {&" + name + "_interface, " +
                  name + "_procedures};\n";
         });
}

}  // namespace exs::generator
