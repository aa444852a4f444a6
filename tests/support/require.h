// Checks outside of test cases whose failure ends the test.
#pragma once

#include <stdexcept>
#include <string>

namespace exs::test {

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

}  // namespace exs::test
