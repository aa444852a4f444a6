// Interfaces in `.x` files: words, definitions, and what is made of them for C and C++.
// SPDX-License-Identifier: BSD-2-Clause
#include <set>
#include <string_view>

#include "rpc/generator/c_output.h"
#include "rpc/generator/failure.h"
#include "rpc/generator/lexer.h"
#include "rpc/generator/parser.h"
#include "rpc/generator/report.h"
#include "tests/fuzz/fuzz.h"

EXS_FUZZ_TARGET(rpc_generator) {
  using namespace exs::generator;
  const auto bytes = input.rest();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  try {
    const auto interface = Parser(Lexer(text, std::set<std::string>()).run()).run();
    const Spelling spelling{true, "x"};
    exs::fuzz::hold(!c_header(interface, spelling).empty(), "a header is made");
    static_cast<void>(report(interface));
    static_cast<void>(cpp_header(interface, spelling));
    static_cast<void>(c_source(interface, spelling));
    static_cast<void>(c_service(interface, spelling));
  } catch (const GeneratorFailure&) {
    // The file is wrong, and its user reads why.
  }
}
