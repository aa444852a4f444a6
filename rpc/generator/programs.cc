// The parser's programs: versions and procedures.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cctype>
#include <utility>

#include "rpc/generator/parser.h"

namespace exs::generator {

void Parser::parse_program() {
  const Lexeme name = take_name("the name of the program");
  define_name(name);
  IdlProgram program;
  program.name = name.text;
  expect("{");
  do {
    const Position where = peek_lexeme().position;
    expect("version");
    Version version = parse_version(name.text);
    for (const Version& other : program.versions)
      if (other.number == version.number)
        throw GeneratorFailure(where, "two versions have the number " + std::to_string(version.number),
                               "change one");
    program.versions.push_back(std::move(version));
    expect(";");
  } while (!sees("}"));
  expect("}");
  program.number = take_number_of("program");
  interface_.programs.push_back(std::move(program));
}

Version Parser::parse_version(const std::string& program) {
  const Lexeme name = take_name("the name of the version");
  define_name(name);
  Version version;
  version.name = name.text;
  expect("{");
  do {
    const Position where = peek_lexeme().position;
    Procedure procedure = parse_procedure(program + "_" + name.text);
    for (const Procedure& other : version.procedures) {
      if (other.number == procedure.number)
        throw GeneratorFailure(where, "two procedures have the number " + std::to_string(procedure.number),
                               "change one");
      if (other.name == procedure.name)
        throw GeneratorFailure(where, "two procedures have the name `" + procedure.name + "`", "change one");
    }
    version.procedures.push_back(std::move(procedure));
    constexpr std::size_t kProceduresMax = 4096;
    if (version.procedures.size() > kProceduresMax)
      throw GeneratorFailure(where, "a version has more than 4096 procedures", "make two of it");
    expect(";");
  } while (!sees("}"));
  expect("}");
  version.number = take_number_of("version");
  return version;
}

void Parser::take_modes(Procedure& procedure) {
  while (peek_lexeme().kind == Lexeme::Kind::kMode) {
    const Lexeme mode = take_lexeme();
    bool& flag = mode.text == "inout"     ? procedure.is_inout
                 : mode.text == "inplace" ? procedure.is_inplace
                 : mode.text == "oneway"  ? procedure.is_oneway
                                          : procedure.is_idempotent;
    if (std::exchange(flag, true))
      throw GeneratorFailure(mode.position, "@" + mode.text + " is there twice", "remove one");
  }
}

const Type* Parser::parse_procedure_type() {
  const Position where = peek_lexeme().position;
  const Type* const type = parse_specifier();
  if (type != nullptr && type->kind == Type::Kind::kScalar && type->scalar == Type::Scalar::kOpaque &&
      !type->is_defined_here)
    throw GeneratorFailure(where, "opaque without a length", "define a type of it by typedef");
  if (sees("*"))
    throw GeneratorFailure(peek_lexeme().position, "a pointer as an argument or result",
                           "define a type of it by typedef");
  return type;
}

Procedure Parser::parse_procedure(const std::string& prefix) {
  Procedure procedure;
  take_modes(procedure);
  const Position where = peek_lexeme().position;
  procedure.result = parse_procedure_type();
  take_modes(procedure);
  procedure.name = take_name("the name of the procedure").text;
  expect("(");
  parse_arguments(procedure);
  expect(")");
  take_modes(procedure);
  procedure.number = take_number_of("procedure");
  take_modes(procedure);
  procedure.argument = procedure.arguments.empty() ? nullptr : procedure.arguments.front();
  if (procedure.arguments.size() > 1) {
    Type all;
    all.kind = Type::Kind::kStruct;
    all.name = prefix + "_" + procedure.name + "_arguments";
    for (std::size_t i = 0; i < procedure.arguments.size(); ++i)
      all.fields.push_back({"argument" + std::to_string(i + 1), procedure.arguments[i], 0});
    procedure.argument = &add_type(std::move(all), where);
  }
  check_modes(procedure, where);
  procedure.hash = hash_of(procedure);
  return procedure;
}

void Parser::parse_arguments(Procedure& procedure) {
  do {
    take_modes(procedure);
    const Position where = peek_lexeme().position;
    const Type* const type = parse_procedure_type();
    take_modes(procedure);
    if (type == nullptr && (!procedure.arguments.empty() || sees(",")))
      throw GeneratorFailure(where, "void beside other arguments", "remove it");
    if (type != nullptr) procedure.arguments.push_back(type);
  } while (take_if(","));
}

void Parser::check_modes(const Procedure& procedure, Position where) {
  if (procedure.is_oneway && procedure.result != nullptr)
    throw GeneratorFailure(where, "a one-way procedure has a result", "make it void");
  if (procedure.is_inout && (procedure.arguments.size() != 1 || procedure.argument != procedure.result))
    throw GeneratorFailure(where, "an @inout procedure has not one argument of the type of its result",
                           "make them the same");
}

}  // namespace exs::generator
