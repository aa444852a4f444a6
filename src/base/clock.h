// The clock of time limits: CLOCK_MONOTONIC in nanoseconds.
#pragma once

#include <time.h>

#include <cstdint>

namespace exs {

inline std::uint64_t monotonic_ns() {
  constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace exs
