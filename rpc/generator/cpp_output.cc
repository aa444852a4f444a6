// NAME_exs.hpp: the classes for C++.
// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/generator/c_output.h"

namespace exs::generator {
namespace {

std::string method(const Procedure& procedure, const Version& version, const Spelling& spelling,
                   std::size_t index) {
  const std::string function = function_name(spelling, procedure, version);
  const std::string parameters = c_parameters(procedure);
  const std::string names = c_parameter_names(procedure);
  if (procedure.is_oneway)
    return "  // Nobody waits for it.\n  exs::cpp::Outcome " + function + "(" +
           parameters.substr(0, parameters.rfind(',')) +
           ") const {\n    return exs::cpp::outcome_of(::" + function + "(handle(), " + names +
           "nullptr));\n  }\n";
  const bool gives = procedure.result != nullptr && !procedure.is_inout;
  const std::string result = gives ? c_word(*procedure.result) : "void";
  return "  exs::cpp::RpcCalling<" + result + "> " + function + "(" + parameters +
         "std::chrono::nanoseconds timeout = {}) const {\n    return {*this, " + std::to_string(index) +
         ", timeout, " + (procedure.is_inout ? "inout" : "nullptr") +
         ",\n            [&](exs_rpc_context_t *context) { return ::" + function + "_begin(handle(), " +
         names + "context); }};\n  }\n";
}

std::string version_class(const IdlProgram& program, const Version& version, const Spelling& spelling) {
  const std::string name = version_name(spelling, program, version);
  std::string text =
      "\n// " + program.name + ", version " + version.name + "\nclass " + name +
      "_client : public exs::cpp::RpcClient {\n public:\n"
      "  // Without a loop: get() of its calls waits.\n  " +
      name +
      "_client(const std::string &host, const std::string &port, const exs::cpp::RpcOptions &options = {})\n"
      "      : RpcClient(" +
      name +
      "_interface, host, port, options) {}\n"
      "  // co_await of its calls waits.\n  " +
      name +
      "_client(exs::cpp::Loop &loop, const std::string &host, const std::string &port,\n"
      "      const exs::cpp::RpcOptions &options = {})\n"
      "      : RpcClient(" +
      name + "_interface, loop, host, port, options) {}\n";
  for (std::size_t i = 0; i < version.procedures.size(); ++i)
    text += method(version.procedures[i], version, spelling, i);
  return text + "};\n";
}

}  // namespace

std::string cpp_header(const IdlInterface& interface, const Spelling& spelling) {
  const std::string guard = guard_of(spelling, "HPP");
  std::string text = "// Made by exs-rpcgen: change the interface instead.\n#ifndef " + guard + "\n#define " +
                     guard + "\n\n#include <exs/rpc.hpp>\n\n#include \"" + spelling.name + "_exs.h\"\n";
  for (const IdlProgram& program : interface.programs)
    for (const Version& version : program.versions) text += version_class(program, version, spelling);
  return text + "\n#endif\n";
}

}  // namespace exs::generator
