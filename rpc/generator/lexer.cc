// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/generator/lexer.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace exs::generator {
namespace {

constexpr std::array<std::string_view, 4> kModes = {"inout", "inplace", "oneway", "idempotent"};

bool starts_word(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_';
}

bool continues_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// Removes the first word of `rest` and returns it.
std::string take_first(std::string_view& rest) {
  rest = trimmed(rest);
  std::size_t length = 0;
  while (length < rest.size() && continues_word(rest[length])) ++length;
  std::string word(rest.substr(0, length));
  rest = trimmed(rest.substr(length));
  return word;
}

}  // namespace

bool parse_number(std::string_view text, std::int64_t& value) {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (is_negative) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  std::uint64_t magnitude = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62U;  // larger numbers have no use
  if (error != std::errc() || end != text.data() + text.size() || magnitude > kMost) return false;
  value = is_negative ? -static_cast<std::int64_t>(magnitude) : static_cast<std::int64_t>(magnitude);
  return true;
}

Lexer::Lexer(std::string_view text, const std::set<std::string>& defined) : text_(text) {
  for (const std::string& name : defined) names_[name];
  names_["RPC_HDR"];
  names_["RPC_EXS"];
}

char Lexer::take_character() {
  const char c = text_[next_++];
  if (c == '\n') {
    ++line_;
    column_ = 1;
    at_line_start_ = true;
  } else {
    ++column_;
    at_line_start_ = at_line_start_ && std::isspace(static_cast<unsigned char>(c)) != 0;
  }
  return c;
}

// Takes the line up to its line feed, which stays.
std::string Lexer::take_line() {
  std::string line;
  while (!at_end() && peek_character() != '\n') line += take_character();
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return line;
}

void Lexer::add(Lexeme::Kind kind, std::string text, Position where, std::int64_t value) {
  if (is_taken()) tokens_.push_back({kind, std::move(text), value, where});
}

bool Lexer::is_taken() const {
  return std::all_of(conditions_.begin(), conditions_.end(), [](bool holds) { return holds; });
}

std::vector<Lexeme> Lexer::run() {
  while (!at_end()) {
    const char c = peek_character();
    const Position where = here();
    if (at_line_start_ && c == '%') {
      take_character();
      add(Lexeme::Kind::kPassed, take_line(), where);
    } else if (at_line_start_ && c == '#') {
      take_directive();
    } else if (c == '/' && (peek_character(1) == '*' || peek_character(1) == '/')) {
      take_comment();
    } else if (std::isspace(static_cast<unsigned char>(c)) != 0 || !is_taken()) {
      take_character();
    } else if (starts_word(c)) {
      take_word();
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '-') {
      take_number();
    } else if (std::string_view("{}()[]<>*=,;:").find(c) != std::string_view::npos) {
      add(Lexeme::Kind::kMark, std::string(1, take_character()), where);
    } else {
      throw GeneratorFailure(where, "a character that the language does not have", "remove it");
    }
  }
  if (!conditions_.empty()) throw GeneratorFailure(here(), "an #ifdef has no #endif", "end it");
  add(Lexeme::Kind::kEnd, "the end of the file", here());
  return std::move(tokens_);
}

void Lexer::take_comment() {
  const Position where = here();
  take_character();
  if (take_character() == '/') {
    take_line();
    return;
  }
  std::string text;
  while (!at_end() && !(peek_character() == '*' && peek_character(1) == '/')) text += take_character();
  if (at_end()) throw GeneratorFailure(where, "a comment without end", "end it with */");
  take_character();
  take_character();
  if (!text.empty() && text.front() == '@') {
    const std::string mode(trimmed(std::string_view(text).substr(1)));
    if (std::find(kModes.begin(), kModes.end(), mode) == kModes.end())
      throw GeneratorFailure(where, "there is no mode @" + mode,
                             "modes are @inout, @inplace, @oneway, @idempotent");
    add(Lexeme::Kind::kMode, mode, where);
  }
}

// Handles a condition, a #define, or a line number of the preprocessor.
void Lexer::take_directive() {
  const Position where = here();
  take_character();
  const std::string line = take_line();
  std::string_view rest = line;
  const std::string word = take_first(rest);
  if (word == "ifdef" || word == "ifndef") {
    const std::string name = take_first(rest);
    if (name.empty())
      throw GeneratorFailure(where, "#" + word + " without a name", "name what is to be defined");
    conditions_.push_back((names_.count(name) != 0) == (word == "ifdef"));
  } else if (word == "else" || word == "endif") {
    if (conditions_.empty()) throw GeneratorFailure(where, "#" + word + " without #ifdef", "remove it");
    const bool held = conditions_.back();
    conditions_.pop_back();
    if (word == "else") conditions_.push_back(!held);
  } else if (!is_taken() || word.empty() || word == "pragma" || word == "line" || word == "ident" ||
             std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
    return;
  } else if (word == "define") {
    define(std::string(rest), where);
  } else if (word == "undef") {
    names_.erase(take_first(rest));
  } else {
    throw GeneratorFailure(where, "#" + word + " is left to the C preprocessor",
                           "translate what `cpp -C FILE` makes of the file");
  }
}

void Lexer::define(const std::string& rest, Position where) {
  std::string_view left = rest;
  const std::string name = take_first(left);
  const std::string value(trimmed(left.substr(0, left.find("/*"))));
  std::int64_t ignored = 0;
  if (name.empty() || (!value.empty() && !parse_number(value, ignored)))
    throw GeneratorFailure(where, "#define of something other than a number",
                           "translate what `cpp -C FILE` makes of the file");
  names_[name] = value;
}

void Lexer::take_word() {
  const Position where = here();
  std::string word;
  while (continues_word(peek_character())) word += take_character();
  const auto found = names_.find(word);
  std::int64_t value = 0;
  if (found != names_.end() && parse_number(found->second, value))
    add(Lexeme::Kind::kNumber, found->second, where, value);
  else
    add(Lexeme::Kind::kName, std::move(word), where);
}

void Lexer::take_number() {
  const Position where = here();
  std::string text(1, take_character());
  while (continues_word(peek_character())) text += take_character();
  std::int64_t value = 0;
  if (!parse_number(text, value))
    throw GeneratorFailure(where, "`" + text + "` is no number",
                           "write it in base 10, as 0x in base 16, or as 0 in base 8");
  add(Lexeme::Kind::kNumber, std::move(text), where, value);
}

}  // namespace exs::generator
