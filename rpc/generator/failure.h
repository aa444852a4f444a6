// An error of an interface, its position, and the cure.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace exs::generator {

struct Position {
  std::size_t line = 1;
  std::size_t column = 1;
};

// Ends the translation. what() is "line:column: what: cure".
class GeneratorFailure : public std::runtime_error {
 public:
  GeneratorFailure(Position where, const std::string& what, const std::string& cure)
      : std::runtime_error(std::to_string(where.line) + ":" + std::to_string(where.column) + ": " + what +
                           ": " + cure) {}
};

}  // namespace exs::generator
