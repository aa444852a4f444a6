// The end of a process in which a check of the layer (base/check.h) has failed.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstdlib>
#include <cstring>

#include "base/check.h"
#include "sockets/preload/kernel/standard_error.h"

namespace exs {

void check_failed(const char* text) noexcept {
  sockets::write_to_standard_error(text, std::strlen(text));
  std::abort();
}

}  // namespace exs
