// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/generator/parser.h"

#include <algorithm>
#include <utility>

namespace exs::generator {

Lexeme Parser::take_lexeme() {
  const Lexeme& token = tokens_[next_];
  if (token.kind != Lexeme::Kind::kEnd) ++next_;
  return token;
}

bool Parser::sees(std::string_view text) const {
  const Lexeme& token = peek_lexeme();
  return (token.kind == Lexeme::Kind::kName || token.kind == Lexeme::Kind::kMark) && token.text == text;
}

bool Parser::take_if(std::string_view text) {
  if (!sees(text)) return false;
  take_lexeme();
  return true;
}

void Parser::refuse(const Lexeme& token, const std::string& expected) {
  const bool is_mode = token.kind == Lexeme::Kind::kMode;
  throw GeneratorFailure(
      token.position,
      is_mode ? "the mode @" + token.text + " is out of place" : "`" + token.text + "` is out of place",
      is_mode ? "modes stand in a procedure" : expected + " is expected here");
}

void Parser::expect(std::string_view text) {
  if (!take_if(text)) refuse(peek_lexeme(), "`" + std::string(text) + "`");
}

Lexeme Parser::take_name(const char* what) {
  if (peek_lexeme().kind != Lexeme::Kind::kName) refuse(peek_lexeme(), what);
  Lexeme name = take_lexeme();
  if (is_reserved(name.text))
    throw GeneratorFailure(name.position, "`" + name.text + "` is a word of the language",
                           "take another name");
  return name;
}

// Takes a number, or the name of one.
std::int64_t Parser::take_value() {
  const Lexeme token = take_lexeme();
  if (token.kind == Lexeme::Kind::kNumber) return token.value;
  if (token.kind != Lexeme::Kind::kName) refuse(token, "a number");
  if (token.text == "TRUE") return 1;
  if (token.text == "FALSE") return 0;
  const auto found = constants_.find(token.text);
  if (found == constants_.end())
    throw GeneratorFailure(token.position, "no number has the name `" + token.text + "`", "define it before");
  return found->second;
}

std::int64_t Parser::take_number_of(const char* what) {
  expect("=");
  const Position where = peek_lexeme().position;
  const std::int64_t value = take_value();
  if (value < 0 || value > UINT32_MAX)
    throw GeneratorFailure(where, std::string("the number of a ") + what + " is out of range",
                           "take one from 0 to 4294967295");
  return value;
}

void Parser::define_name(const Lexeme& name) {
  if (!taken_names_.insert(name.text).second)
    throw GeneratorFailure(name.position, "`" + name.text + "` is defined already", "take another name");
}

IdlInterface Parser::run() {
  while (peek_lexeme().kind != Lexeme::Kind::kEnd) parse_definition();
  return std::move(interface_);
}

void Parser::parse_definition() {
  const Lexeme& token = peek_lexeme();
  if (token.kind == Lexeme::Kind::kPassed) {
    interface_.definitions.push_back({Definition::Kind::kPassed, "", take_lexeme().text, nullptr, {}});
    return;
  }
  if (take_if("const")) {
    parse_const();
  } else if (take_if("enum")) {
    parse_enum();
  } else if (take_if("struct")) {
    parse_struct();
  } else if (take_if("union")) {
    parse_union();
  } else if (take_if("typedef")) {
    parse_typedef();
  } else if (take_if("program")) {
    parse_program();
  } else {
    refuse(token, "const, enum, struct, union, typedef or program");
  }
  expect(";");
}

void Parser::parse_const() {
  const Lexeme name = take_name("a name");
  define_name(name);
  expect("=");
  const std::string text = peek_lexeme().text;
  const std::int64_t value = take_value();
  constants_[name.text] = value;
  interface_.definitions.push_back({Definition::Kind::kConstant, name.text, text, nullptr, {}});
}

void Parser::parse_enum() {
  const Lexeme name = take_name("a name");
  define_name(name);
  Type type;
  type.kind = Type::Kind::kEnum;
  type.name = name.text;
  type.is_defined_here = true;
  Definition definition{Definition::Kind::kEnum, name.text, "", nullptr, {}};
  expect("{");
  std::int64_t value = 0;
  do {
    const Lexeme enumerator = take_name("the name of a value");
    define_name(enumerator);
    const Position where = peek_lexeme().position;
    if (take_if("=")) value = take_value();
    if (value < INT32_MIN || value > INT32_MAX)
      throw GeneratorFailure(where, "a value of an enum is out of range", "take one of 32 bits with a sign");
    constants_[enumerator.text] = value;
    type.values.push_back(value);
    definition.enumerators.emplace_back(enumerator.text, value++);
  } while (take_if(","));
  expect("}");
  definition.type = named_[name.text] = &add_type(std::move(type), name.position);
  interface_.definitions.push_back(std::move(definition));
}

void Parser::parse_struct() {
  const Lexeme name = take_name("a name");
  define_name(name);
  Type& type = *interface_.types.emplace_back(std::make_unique<Type>());
  type.kind = Type::Kind::kStruct;
  type.name = name.text;
  type.is_defined_here = true;
  type.is_complete = false;
  named_[name.text] = &type;
  std::set<std::string> names;
  expect("{");
  do {
    const Declared declared = parse_declaration();
    if (declared.type == nullptr) throw GeneratorFailure(declared.position, "a member is void", "remove it");
    require_complete(declared.type, declared.position);
    if (!names.insert(declared.name).second)
      throw GeneratorFailure(declared.position, "`" + declared.name + "` is a member already",
                             "take another name");
    type.fields.push_back({declared.name, declared.type, 0});
    expect(";");
  } while (!sees("}"));
  expect("}");
  type.is_complete = true;
  if (!lay_out(type))
    throw GeneratorFailure(name.position, "`" + name.text + "` has more than 1 GiB or 200 levels",
                           "use vectors (<>) or fewer levels");
  interface_.definitions.push_back({Definition::Kind::kStruct, name.text, "", &type, {}});
}

void Parser::parse_union() {
  const Lexeme name = take_name("a name");
  define_name(name);
  Type& type = *interface_.types.emplace_back(std::make_unique<Type>());
  type.kind = Type::Kind::kUnion;
  type.name = name.text;
  type.is_defined_here = true;
  type.is_complete = false;
  named_[name.text] = &type;
  expect("switch");
  expect("(");
  const Declared discriminant = parse_declaration();
  const Type* const of = discriminant.type;
  const bool is_number = of != nullptr && of->kind == Type::Kind::kScalar && of->bytes == 4 &&
                         of->scalar != Type::Scalar::kFloat;
  if (of == nullptr || (!is_number && of->kind != Type::Kind::kEnum && of->kind != Type::Kind::kBool))
    throw GeneratorFailure(discriminant.position, "a union switches on a type that cannot choose",
                           "use int, unsigned int, bool or an enum");
  type.fields.push_back({discriminant.name, of, 0});
  expect(")");
  expect("{");
  do parse_arm(type);
  while (!sees("}"));
  expect("}");
  type.is_complete = true;
  if (!lay_out(type))
    throw GeneratorFailure(name.position, "`" + name.text + "` has more than 1 GiB or 200 levels",
                           "use vectors (<>) or fewer levels");
  interface_.definitions.push_back({Definition::Kind::kUnion, name.text, "", &type, {}});
}

void Parser::parse_arm(Type& type) {
  Arm arm;
  const Lexeme start = peek_lexeme();
  if (!type.arms.empty() && type.arms.back().values.empty())
    throw GeneratorFailure(start.position, "the default is followed by another arm", "make it the last one");
  if (take_if("default")) {
    expect(":");
  } else {
    if (!sees("case")) refuse(start, "case or default");
    while (take_if("case")) add_values(type, arm);
  }
  const Declared declared = parse_declaration();
  if (declared.type != nullptr) require_complete(declared.type, declared.position);
  for (const Arm& other : type.arms)
    if (declared.type != nullptr && other.field.type != nullptr && other.field.name == declared.name)
      throw GeneratorFailure(declared.position, "`" + declared.name + "` is an arm already",
                             "take another name");
  arm.field = {declared.name, declared.type, 0};
  expect(";");
  type.arms.push_back(std::move(arm));
}

// Parses one `case VALUE:` whose `case` has been taken.
void Parser::add_values(Type& type, Arm& arm) {
  const Lexeme label = peek_lexeme();
  const std::int64_t value = take_value();
  const Type& of = *type.fields.front().type;
  const bool is_member =
      of.kind != Type::Kind::kEnum || std::find(of.values.begin(), of.values.end(), value) != of.values.end();
  if (!is_member || value < INT32_MIN || value > UINT32_MAX ||
      (of.kind == Type::Kind::kBool && value != 0 && value != 1))
    throw GeneratorFailure(label.position, "the discriminant never has the value `" + label.text + "`",
                           "take one that it has");
  const auto low = static_cast<std::int32_t>(static_cast<std::uint32_t>(value));
  const auto has = [&](const Arm& other) {
    return std::find(other.values.begin(), other.values.end(), low) != other.values.end();
  };
  if (has(arm) || std::any_of(type.arms.begin(), type.arms.end(), has))
    throw GeneratorFailure(label.position, "`" + label.text + "` has an arm already", "remove one");
  arm.values.push_back(low);
  arm.labels.push_back(label.text);
  expect(":");
}

void Parser::parse_typedef() {
  const Declared declared = parse_declaration();
  if (declared.type == nullptr) throw GeneratorFailure(declared.position, "a typedef of void", "remove it");
  require_complete(declared.type, declared.position);
  Lexeme name;
  name.text = declared.name;
  name.position = declared.position;
  define_name(name);
  // The typedef is a type of its own with the same layout; its C name is the new one.
  Type type = *declared.type;
  if (type.original == nullptr) type.original = declared.type;
  type.name = declared.name;
  type.is_defined_here = true;
  Type& added = *interface_.types.emplace_back(std::make_unique<Type>(std::move(type)));
  named_[declared.name] = &added;
  interface_.definitions.push_back({Definition::Kind::kTypedef, declared.name, "", declared.type, {}});
}

}  // namespace exs::generator
