// exs-rpcgen reads the language of rpcgen, lays types out as rpc/FORMAT.md says, and survives whatever it is given.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <set>
#include <string>
#include <vector>

#include "rpc/generator/parser.h"
#include "rpc/generator/report.h"
#include "tests/support/property.h"

namespace generator_test {

using exs::generator::GeneratorFailure;
using exs::generator::IdlInterface;
using exs::generator::Lexer;
using exs::generator::Parser;
using exs::generator::Type;

// Every form of the language.
constexpr const char* kWhole = R"(/* all of it */
%#include "more.h"
#ifdef RPC_HDR
const MOST = 0x10;
#else
this is not read ` ~
#endif
#define FEW 3
# 12 "elsewhere.x"
enum color { RED = 1, GREEN, BLUE = MOST };
typedef string name<MOST>;
typedef opaque digest[FEW];
struct node { name title; unsigned hyper size; node *next; };
typedef node *list;
struct flat { int a; unsigned b; double c; hyper d; short e; u_short f; bool_t g[1]; };
union answer switch (color what) {
  case RED: case GREEN: list entries;
  case BLUE: void;
  default: opaque rest<>;
};
program DIR { version ONE {
  void NULLPROC(void) = 0;
  answer LIST(name, unsigned int) = 1; // two of them, as by rpcgen -N
  /*@inout*/ flat TURN(flat) = 2;
  void NOTE(string /*@inplace*/) /*@oneway*/ = 3;
  float AREA(struct flat) = MOST;
} = 1; version TWO { /*@idempotent*/ int COUNT(void) = 1; } = 2; } = 0x20000001;
)";

IdlInterface parse(const std::string& text) {
  return Parser(Lexer(text, {}).run()).run();
}

std::string outcome(const std::string& text) {
  try {
    parse(text);
    return "";
  } catch (const GeneratorFailure& failure) {
    return failure.what();
  }
}

const Type& type_of(const IdlInterface& interface, const std::string& name) {
  const Type* found = nullptr;
  for (const auto& type : interface.types)
    if (type->name == name) found = type.get();
  BOOST_REQUIRE(found != nullptr);
  return *found;
}

std::uint64_t hash_of_procedure(const std::string& types, const std::string& signature) {
  return parse(types + " program P { version V { " + signature + " = 1; } = 1; } = 1;")
      .programs[0]
      .versions[0]
      .procedures[0]
      .hash;
}

}  // namespace generator_test

BOOST_AUTO_TEST_SUITE(generator_test)

BOOST_AUTO_TEST_CASE(the_whole_language_is_read) {
  const IdlInterface interface = parse(kWhole);
  BOOST_REQUIRE(interface.programs.size() == 1U);
  BOOST_TEST(interface.programs[0].number == 0x20000001);
  BOOST_REQUIRE(interface.programs[0].versions.size() == 2U);
  const auto& procedures = interface.programs[0].versions[0].procedures;
  BOOST_REQUIRE(procedures.size() == 5U);
  BOOST_TEST(procedures[1].arguments.size() == 2U);
  BOOST_TEST(procedures[2].is_inout);
  BOOST_TEST((procedures[3].is_oneway && procedures[3].is_inplace));
  BOOST_TEST(procedures[4].number == 16);
  BOOST_TEST(interface.programs[0].versions[1].procedures[0].is_idempotent);
  BOOST_TEST(!exs::generator::report(interface).empty());
}

BOOST_AUTO_TEST_CASE(types_lie_as_in_c) {
  const IdlInterface interface = parse(
      kWhole +
      std::string("struct mixed { char a; hyper b; int c; }; struct tight { int a; float b; hyper c; };"));
  const Type& mixed = type_of(interface, "mixed");
  BOOST_TEST(mixed.fields[1].offset == 8U);
  BOOST_TEST(mixed.bytes == 24U);
  BOOST_TEST(!mixed.is_flat);  // its padding must not leave the process
  BOOST_TEST(type_of(interface, "tight").is_flat);
  const Type& node = type_of(interface, "node");
  BOOST_TEST(node.bytes == 24U);
  BOOST_TEST(node.varies);
  const Type& answer = type_of(interface, "answer");
  BOOST_TEST(answer.arms_offset == 4U);
  BOOST_TEST(answer.bytes == 12U);
  BOOST_TEST(!type_of(interface, "flat").is_flat);  // a bool is 0 or 1
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_told_with_its_place_and_a_cure) {
  BOOST_TEST(outcome("const A = B;") == "1:11: no number has the name `B`: define it before");
  BOOST_TEST(outcome("struct a { quadruple q; };") ==
             "1:12: quadruple is a type that C does not have: use opaque[16]");
  BOOST_TEST(outcome("struct a {\n  a b;\n};") == "2:5: `a` contains itself: use a pointer (*)");
  BOOST_TEST(outcome("struct a { int class; };") ==
             "1:16: `class` is a word of the language: take another name");
  BOOST_TEST(outcome("enum e { A }; union u switch (e x) { case 7: void; };") ==
             "1:43: the discriminant never has the value `7`: take one that it has");
  BOOST_TEST(outcome("union u switch (int x) { case 1: void; case 0x1: void; };") ==
             "1:45: `0x1` has an arm already: remove one");
  BOOST_TEST(outcome("program P { version V { /*@oneway*/ int F(void) = 1; } = 1; } = 1;") ==
             "1:37: a one-way procedure has a result: make it void");
  BOOST_TEST(outcome("/*@fast*/") ==
             "1:1: there is no mode @fast: modes are @inout, @inplace, @oneway, @idempotent");
  BOOST_TEST(outcome("#include <x.h>\n") ==
             "1:1: #include is left to the C preprocessor: translate what `cpp -C FILE` makes of the file");
  BOOST_TEST(outcome("struct a { struct { int b; } c; };") ==
             "1:12: a type is defined inside a declaration: define it before, and name it here");
  BOOST_TEST(outcome("typedef hyper t[1000000000];") ==
             "1:15: a type has more than 1 GiB or 200 levels: use vectors (<>) or fewer levels");
}

BOOST_AUTO_TEST_CASE(what_is_half_written_is_refused) {
  const std::string whole = kWhole;
  for (const char* text : {"/* no end", "#ifdef A\n", "#else\n", "const", "struct a {", "typedef opaque x;",
                           "typedef string *x;", "program P { version V { int F(a) = 1; } = 1; } = 1;",
                           "program P { version V { opaque F(void) = 1; } = 1; } = 1;", "typedef int x[0];",
                           "typedef int x[-1];", "const A = 09;", "const A = 99999999999999999999;", "$"})
    BOOST_TEST(!outcome(text).empty(), text);
  // Expect: a file that ends anywhere is refused or is a smaller interface, and nothing else happens.
  for (std::size_t length = 0; length < whole.size(); ++length) outcome(whole.substr(0, length));
}

BOOST_AUTO_TEST_CASE(hashes_tell_types_apart_and_ignore_names) {
  const auto plain = hash_of_procedure("struct a { int x; hyper y; };", "void F(a)");
  BOOST_TEST(plain == hash_of_procedure("struct other { int u; hyper v; };", "void G(other)"));
  BOOST_TEST(plain == hash_of_procedure("typedef int number; struct a { number x; hyper y; };", "void F(a)"));
  BOOST_TEST(hash_of_procedure("struct a { int x; }; struct b { a x; a y; };", "void F(b)") ==
             hash_of_procedure("struct a { int x; }; typedef a c; struct b { a x; c y; };", "void F(b)"));
  const std::set<std::uint64_t> different = {
      plain,
      hash_of_procedure("struct a { unsigned x; hyper y; };", "void F(a)"),
      hash_of_procedure("struct a { hyper y; int x; };", "void F(a)"),
      hash_of_procedure("struct a { int x; hyper y; };", "a F(void)"),
      hash_of_procedure("struct a { int x; hyper y; };", "/*@oneway*/ void F(a)"),
      hash_of_procedure("struct a { int x<3>; };", "void F(a)"),
      hash_of_procedure("struct a { int x<4>; };", "void F(a)"),
      hash_of_procedure("struct a { int x[4]; };", "void F(a)"),
      hash_of_procedure("struct a { int *x; };", "void F(a)"),
      hash_of_procedure("struct a { a *x; };", "void F(a)"),
  };
  BOOST_TEST(different.size() == 10U);
}

// Types that double at each level are described once each.
BOOST_AUTO_TEST_CASE(a_hash_of_deep_types_takes_no_time) {
  std::string types = "struct t0 { int a; };";
  for (int i = 1; i <= 25; ++i) {
    const std::string below = "t" + std::to_string(i - 1);
    types += "struct t" + std::to_string(i) + " { " + below + " a; " + below + " b; };";
  }
  BOOST_TEST(hash_of_procedure(types, "void F(t25)") != 0U);
}

BOOST_AUTO_TEST_CASE(types_of_too_many_levels_are_refused) {
  std::string types = "struct t0 { int a; };";
  for (int i = 1; i <= 300; ++i)
    types += "struct t" + std::to_string(i) + " { t" + std::to_string(i - 1) + " *a; };";
  BOOST_TEST(outcome(types).find("200 levels") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(no_file_breaks_it, exs::test::PropertyDefaults) {
  BOOST_TEST(exs::test::holds("mutated interfaces are read or refused", [] {
    static const std::vector<std::string> words = {"struct ", "union ", "*", "<",  ">",      "{",
                                                   "}",       "case ",  ";", "/*", "*/",     "#else\n",
                                                   "99",      "-",      "[", "]",  "switch", "%"};
    std::string text = kWhole;
    const std::size_t changes = 1 + exs::test::draw_index(8);
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t at = exs::test::draw_index(text.size());
      const std::size_t length = exs::test::draw_index(16);
      switch (exs::test::draw_index(4)) {
        case 0: text.erase(at, length); break;
        case 1: text.insert(at, words[exs::test::draw_index(words.size())]); break;
        case 2: text[at] = static_cast<char>(exs::test::draw_bits(8)); break;
        default: text.insert(at, text.substr(exs::test::draw_index(text.size()), length)); break;
      }
    }
    try {
      exs::generator::report(parse(text));
    } catch (const GeneratorFailure&) {
      // Refused.
    }
  }));
}

BOOST_AUTO_TEST_SUITE_END()
