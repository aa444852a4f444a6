// SPDX-License-Identifier: BSD-2-Clause
#include "base/check.h"

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/kernel.h"

namespace exs {

void check_failed(const char* text) noexcept {
  kernel::write_at_once(STDERR_FILENO, text, std::strlen(text));
  std::abort();
}

}  // namespace exs
