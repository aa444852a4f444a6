// Checks outside of test cases whose failure ends the test.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <stdexcept>
#include <string>

namespace exs::test {

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

}  // namespace exs::test
