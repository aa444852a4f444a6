// The parser's declarations: types and members.
// SPDX-License-Identifier: BSD-2-Clause
#include <utility>

#include "rpc/generator/parser.h"

namespace exs::generator {
namespace {

struct TypeWord {
  const char* text;
  std::uint64_t bytes;
  Type::Scalar scalar;
};

// Numbers that may be unsigned. rpcgen's `long` has four bytes in messages and eight in memory; here it has eight in both.
constexpr TypeWord kNumbers[] = {{"int", 4, Type::Scalar::kInt},
                                 {"hyper", 8, Type::Scalar::kInt},
                                 {"long", 8, Type::Scalar::kInt},
                                 {"short", 2, Type::Scalar::kInt},
                                 {"char", 1, Type::Scalar::kInt}};
constexpr TypeWord kOthers[] = {
    {"float", 4, Type::Scalar::kFloat},      {"double", 8, Type::Scalar::kFloat},
    {"u_int", 4, Type::Scalar::kUnsigned},   {"u_long", 8, Type::Scalar::kUnsigned},
    {"u_short", 2, Type::Scalar::kUnsigned}, {"u_char", 1, Type::Scalar::kUnsigned},
    {"opaque", 1, Type::Scalar::kOpaque}};

}  // namespace

Type& Parser::add_type(Type type, Position where) {
  if (!lay_out(type))
    throw GeneratorFailure(where, "a type has more than 1 GiB or 200 levels",
                           "use vectors (<>) or fewer levels");
  return *interface_.types.emplace_back(std::make_unique<Type>(std::move(type)));
}

void Parser::require_complete(const Type* type, Position where) const {
  const Type* inner = type;
  while (inner->kind == Type::Kind::kArray || inner->kind == Type::Kind::kVector) inner = inner->element;
  if (inner->kind != Type::Kind::kOptional && !inner->is_complete)
    throw GeneratorFailure(where, "`" + inner->name + "` contains itself", "use a pointer (*)");
}

const Type* Parser::word_type(const Lexeme& word, bool is_unsigned) {
  Type type;
  type.name = word.text;
  for (const TypeWord& number : kNumbers) {
    if (word.text != number.text) continue;
    if (is_unsigned) type.name = "unsigned " + type.name;
    type.bytes = number.bytes;
    type.scalar = is_unsigned ? Type::Scalar::kUnsigned : number.scalar;
  }
  for (const TypeWord& other : kOthers) {
    if (is_unsigned || word.text != other.text) continue;
    type.bytes = other.bytes;
    type.scalar = other.scalar;
  }
  if (!is_unsigned && (word.text == "bool" || word.text == "bool_t")) type.kind = Type::Kind::kBool;
  if (!is_unsigned && word.text == "string") {
    type.kind = Type::Kind::kString;
    type.count = kUnlimited;
  }
  if (type.kind == Type::Kind::kScalar && type.bytes == 0) return nullptr;
  for (const auto& known : interface_.types)
    if (!known->is_defined_here && known->name == type.name && known->element == nullptr &&
        known->count == type.count)
      return known.get();
  return &add_type(std::move(type), word.position);
}

// Returns NULL for void.
const Type* Parser::parse_specifier() {
  const Lexeme word = take_lexeme();
  if (word.kind != Lexeme::Kind::kName) refuse(word, "a type");
  if (word.text == "void") return nullptr;
  if (word.text == "quadruple")
    throw GeneratorFailure(word.position, "quadruple is a type that C does not have", "use opaque[16]");
  if (word.text == "unsigned") {
    Lexeme number = peek_lexeme();
    for (const TypeWord& known : kNumbers)
      if (sees(known.text)) return word_type(take_lexeme(), true);
    number.text = "int";
    return word_type(number, true);
  }
  if (const Type* const type = word_type(word, false)) return type;
  const bool has_keyword = word.text == "struct" || word.text == "union" || word.text == "enum";
  if (has_keyword && (sees("{") || sees("switch")))
    throw GeneratorFailure(word.position, "a type is defined inside a declaration",
                           "define it before, and name it here");
  const Lexeme name = has_keyword ? take_lexeme() : word;
  const auto found = named_.find(name.text);
  if (found != named_.end()) return found->second;
  throw GeneratorFailure(name.position, "there is no type `" + name.text + "`",
                         "define it before it is used");
}

std::uint64_t Parser::parse_limit(char end) {
  const std::string mark(1, end);
  if (take_if(mark)) {
    if (end == ']') refuse(tokens_[next_ - 1], "the number of elements");
    return kUnlimited;
  }
  const Position where = peek_lexeme().position;
  const std::int64_t value = take_value();
  expect(mark);
  if (value < 0 || value > UINT32_MAX || (end == ']' && value == 0))
    throw GeneratorFailure(where, "a number of elements is out of range", "take one from 1 to 4294967295");
  return static_cast<std::uint64_t>(value);
}

Parser::Declared Parser::parse_declaration() {
  const Position where = peek_lexeme().position;
  const Type* const type = parse_specifier();
  if (type == nullptr) return {"", nullptr, where};
  if (take_if("*")) {
    if (type->kind == Type::Kind::kString ||
        (type->kind == Type::Kind::kScalar && type->scalar == Type::Scalar::kOpaque))
      throw GeneratorFailure(where, "a pointer to `" + type->name + "`", "define a type of it by typedef");
    const Lexeme name = take_name("a name");
    Type optional;
    optional.kind = Type::Kind::kOptional;
    optional.element = type;
    return {name.text, &add_type(std::move(optional), where), name.position};
  }
  return parse_member(take_name("a name"), type);
}

// Parses the part behind the name.
Parser::Declared Parser::parse_member(const Lexeme& name, const Type* type) {
  const bool is_string = type->kind == Type::Kind::kString && !type->is_defined_here;
  const bool is_opaque =
      type->kind == Type::Kind::kScalar && type->scalar == Type::Scalar::kOpaque && !type->is_defined_here;
  Type made;
  made.element = type;
  if (sees("<")) {
    take_lexeme();
    made.kind = is_string ? Type::Kind::kString : Type::Kind::kVector;
    made.count = parse_limit('>');
    if (is_string) made.element = nullptr;
  } else if (sees("[") && !is_string) {
    take_lexeme();
    made.kind = Type::Kind::kArray;
    made.count = parse_limit(']');
  } else if (is_string || is_opaque) {
    refuse(peek_lexeme(), is_string ? "`<`" : "`<` or `[`");
  } else {
    return {name.text, type, name.position};
  }
  // A pointer's target and an array's elements need a known size.
  if (!type->is_complete)
    throw GeneratorFailure(name.position, "elements of `" + type->name + "`, which is not defined yet",
                           "use a pointer (*)");
  return {name.text, &add_type(std::move(made), name.position), name.position};
}

}  // namespace exs::generator
