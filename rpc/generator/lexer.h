// The words of an interface. Besides the words of RFC 5531 the lexer handles all that rpcgen leaves to the C preprocessor:
//  - comments, where a comment of one known word is a mode;
//  - conditions on names, and names for numbers;
//  - lines with %, which go into the header.
// Thread: one at a time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/generator/failure.h"

namespace exs::generator {

struct Lexeme {
  enum class Kind : std::uint8_t {
    kName,
    kNumber,  // text as written, and value
    kMark,    // one character
    kMode,    // a comment: text is inout, inplace, oneway or idempotent
    kPassed,  // a line for the header, without its %
    kEnd,
  };
  Kind kind = Kind::kEnd;
  std::string text;
  std::int64_t value = 0;
  Position position;
};

class Lexer {
 public:
  // `defined` has the names that #ifdef finds, besides RPC_HDR and RPC_EXS.
  Lexer(std::string_view text, const std::set<std::string>& defined);

  // Returns all words; the last is the end.
  std::vector<Lexeme> run();

 private:
  [[nodiscard]] bool at_end() const { return next_ == text_.size(); }
  [[nodiscard]] char peek_character(std::size_t ahead = 0) const {
    return next_ + ahead < text_.size() ? text_[next_ + ahead] : '\0';
  }
  char take_character();
  std::string take_line();
  [[nodiscard]] Position here() const { return {line_, column_}; }

  void take_comment();
  void take_directive();
  void define(const std::string& rest, Position where);
  void take_word();
  void take_number();
  void add(Lexeme::Kind kind, std::string text, Position where, std::int64_t value = 0);
  // All surrounding conditions hold.
  [[nodiscard]] bool is_taken() const;

  std::string_view text_;
  std::size_t next_ = 0;
  std::size_t line_ = 1;
  std::size_t column_ = 1;
  bool at_line_start_ = true;
  std::map<std::string, std::string> names_;  // defined names and their values
  std::vector<bool> conditions_;
  std::vector<Lexeme> tokens_;
};

// Parses `text` as a C number in base 8, 10 or 16. Returns false if it is none, or too large.
bool parse_number(std::string_view text, std::int64_t& value);

}  // namespace exs::generator
