// What a test cannot go on without, outside of its cases.
#pragma once

#include <stdexcept>
#include <string>

namespace exs::test {

inline void require(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

}  // namespace exs::test
