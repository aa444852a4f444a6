// The clock for time limits. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include <cstdint>

namespace exs::rpc {

inline std::int64_t now_ns() {
  constexpr std::int64_t kSecond = 1'000'000'000;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

}  // namespace exs::rpc
