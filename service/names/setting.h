// Environment variables of services. Thread: any, as getenv(3).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>

namespace exs::svc {

// Returns NULL if the variable is unset or empty.
inline const char* setting(const char* name) noexcept {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

}  // namespace exs::svc
