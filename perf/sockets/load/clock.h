// The clock of the loads, in seconds.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <ctime>

namespace sockets_load {

inline double now_s() {
  timespec at = {};
  clock_gettime(CLOCK_MONOTONIC, &at);
  return static_cast<double>(at.tv_sec) + static_cast<double>(at.tv_nsec) * 1e-9;
}

}  // namespace sockets_load
