// SPDX-License-Identifier: BSD-2-Clause
#include "base/environment.h"

#include <cstdlib>

namespace exs {

std::optional<bool> switch_named(std::string_view word) noexcept {
  for (const std::string_view yes : {"1", "yes", "on", "true"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"0", "no", "off", "false"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

bool switch_from_environment(const char* name, bool otherwise) noexcept {
  const char* const word = std::getenv(name);
  return word == nullptr ? otherwise : switch_named(word).value_or(otherwise);
}

}  // namespace exs
