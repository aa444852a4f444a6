// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/spin.h"

#include <sched.h>

namespace exs::sockets {

bool has_one_processor() noexcept {
  static const bool one = [] {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < 2;
  }();
  return one;
}

}  // namespace exs::sockets
