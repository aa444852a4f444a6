// Clocks, and times in nanoseconds. All of them are read by kernel.h, so that a program of tests can have a time of its own. Times are
// unsigned; a limit of a program is signed, and becomes one by time_after(). Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include <cstdint>

#include "base/kernel.h"

namespace exs {

inline constexpr std::uint64_t kNsPerMs = 1'000'000;
inline constexpr std::uint64_t kNsPerSecond = 1'000'000'000;
inline constexpr std::uint64_t kNeverNs = UINT64_MAX;  // the time of what does not come

inline timespec to_timespec(std::uint64_t ns) {
  return {static_cast<time_t>(ns / kNsPerSecond), static_cast<long>(ns % kNsPerSecond)};
}

inline std::uint64_t to_ns(const timespec& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

inline std::uint64_t clock_ns(clockid_t clock) {
  timespec now{};
  kernel::clock_gettime(clock, &now);
  return to_ns(now);
}

inline std::uint64_t monotonic_ns() {
  return clock_ns(CLOCK_MONOTONIC);
}

// As monotonic_ns(), but the time in which the machine sleeps counts: what another machine grants may end meanwhile.
inline std::uint64_t boottime_ns() {
  return clock_ns(CLOCK_BOOTTIME);
}

inline std::uint64_t since_1970_ms() {
  return clock_ns(CLOCK_REALTIME) / kNsPerMs;
}

// The time when `wait_ns` have passed. What would be too late for the type is never.
constexpr std::uint64_t time_after(std::uint64_t now_ns, std::uint64_t wait_ns) noexcept {
  return wait_ns > kNeverNs - now_ns ? kNeverNs : now_ns + wait_ns;
}

// The same for a limit that a program gives. A negative one means that there is no limit.
constexpr std::uint64_t limit_after(std::uint64_t now_ns, std::int64_t limit_ns) noexcept {
  return limit_ns < 0 ? kNeverNs : time_after(now_ns, static_cast<std::uint64_t>(limit_ns));
}

// 0: it is over.
constexpr std::uint64_t time_left(std::uint64_t until_ns, std::uint64_t now_ns) noexcept {
  return until_ns > now_ns ? until_ns - now_ns : 0;
}

// The same as the limit of a wait, as the functions of exs.h take it.
constexpr std::int64_t wait_left(std::uint64_t until_ns, std::uint64_t now_ns) noexcept {
  const std::uint64_t left_ns = time_left(until_ns, now_ns);
  return left_ns < INT64_MAX ? static_cast<std::int64_t>(left_ns) : INT64_MAX;
}

}  // namespace exs
