// The clock of the loads, in seconds.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "base/clock.h"

namespace sockets_load {

inline double now_s() {
  return static_cast<double>(exs::monotonic_ns()) / static_cast<double>(exs::kNsPerSecond);
}

}  // namespace sockets_load
