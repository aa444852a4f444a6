// Clock and deadlines. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <ctime>

namespace exs::svc {

inline constexpr std::int64_t kNsPerMs = 1'000'000;
inline constexpr std::int64_t kNever = INT64_MAX;

inline std::int64_t read_clock(clockid_t clock) noexcept {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * INT64_C(1'000'000'000) + now.tv_nsec;
}
// BOOTTIME cannot be set, and runs while the machine sleeps, so leases expire meanwhile, too.
inline std::int64_t now_ns() noexcept {
  return read_clock(CLOCK_BOOTTIME);
}
inline std::int64_t since_1970_ms() noexcept {
  return read_clock(CLOCK_REALTIME) / kNsPerMs;
}
// Adds without overflow.
inline std::int64_t after(std::int64_t now, std::int64_t wait_ns) noexcept {
  return wait_ns < 0 || wait_ns > kNever - now ? kNever : now + wait_ns;
}

}  // namespace exs::svc
