// From the words of an interface to its definitions. Every type is defined before it is used, as in C; a pointer may come earlier.
// Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "rpc/generator/lexer.h"
#include "rpc/generator/model.h"

namespace exs::generator {

class Parser {
 public:
  explicit Parser(std::vector<Lexeme> tokens) : tokens_(std::move(tokens)) {}
  // Throws Failure.
  IdlInterface run();

 private:
  // A declaration's name, type and position.
  struct Declared {
    std::string name;
    const Type* type = nullptr;  // NULL: void
    Position position;
  };

  // --- words (parser.cc) ---
  [[nodiscard]] const Lexeme& peek_lexeme() const { return tokens_[next_]; }
  Lexeme take_lexeme();
  [[nodiscard]] bool sees(std::string_view text) const;
  bool take_if(std::string_view text);
  void expect(std::string_view text);
  Lexeme take_name(const char* what);
  std::int64_t take_value();
  std::int64_t take_number_of(const char* what);
  [[noreturn]] static void refuse(const Lexeme& token, const std::string& expected);

  // --- definitions (parser.cc) ---
  void parse_definition();
  void parse_const();
  void parse_enum();
  void parse_struct();
  void parse_union();
  void parse_typedef();
  void parse_arm(Type& type);
  void add_values(Type& type, Arm& arm);
  void define_name(const Lexeme& name);

  // --- declarations (declarations.cc) ---
  const Type* parse_specifier();
  const Type* word_type(const Lexeme& word, bool is_unsigned);
  Declared parse_declaration();
  Declared parse_member(const Lexeme& name, const Type* type);
  std::uint64_t parse_limit(char end);
  Type& add_type(Type type, Position where);
  void require_complete(const Type* type, Position where) const;

  // --- programs (programs.cc) ---
  void parse_program();
  Version parse_version(const std::string& program);
  Procedure parse_procedure(const std::string& prefix);
  void parse_arguments(Procedure& procedure);
  void take_modes(Procedure& procedure);
  void check_modes(const Procedure& procedure, Position where);
  const Type* parse_procedure_type();

  std::vector<Lexeme> tokens_;
  std::size_t next_ = 0;
  IdlInterface interface_;
  std::map<std::string, Type*> named_;
  std::map<std::string, std::int64_t> constants_;
  std::set<std::string> taken_names_;
};

// A word of C or C++, which cannot be a name.
bool is_reserved(const std::string& word);

}  // namespace exs::generator
