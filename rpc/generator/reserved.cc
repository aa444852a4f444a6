// The words that cannot be names.
// SPDX-License-Identifier: BSD-2-Clause
#include <set>

#include "rpc/generator/parser.h"

namespace exs::generator {

bool is_reserved(const std::string& word) {
  static const std::set<std::string> words = {
      "alignas",      "alignof",   "and",      "asm",       "auto",     "bool",     "break",    "case",
      "catch",        "char",      "class",    "const",     "continue", "default",  "delete",   "do",
      "double",       "else",      "enum",     "explicit",  "export",   "extern",   "false",    "float",
      "for",          "friend",    "goto",     "if",        "inline",   "int",      "long",     "mutable",
      "namespace",    "new",       "not",      "nullptr",   "operator", "opaque",   "or",       "private",
      "program",      "protected", "public",   "register",  "restrict", "return",   "short",    "signed",
      "sizeof",       "static",    "string",   "struct",    "switch",   "template", "this",     "throw",
      "true",         "try",       "typedef",  "typeid",    "typename", "union",    "unsigned", "using",
      "version",      "virtual",   "void",     "volatile",  "while",    "xor",      "hyper",    "quadruple",
      "constexpr",    "concept",   "co_await", "co_return", "co_yield", "requires", "noexcept", "decltype",
      "thread_local", "typeof"};
  return words.count(word) != 0;
}

}  // namespace exs::generator
