// The clock behind base/clock.h, which this library reads without the rest of base/kernel.h. The C library asks no kernel for it.
// SPDX-License-Identifier: BSD-2-Clause
#include <time.h>

#include "base/kernel.h"

namespace exs::kernel {

int clock_gettime(clockid_t clock, timespec* into) noexcept {
  return ::clock_gettime(clock, into);
}

}  // namespace exs::kernel
