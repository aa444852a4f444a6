// Tools for looking before a sleep. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>
#include <time.h>

#include <cstdint>

#include "sockets/preload/raw.h"

namespace exs::sockets {

inline std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

// On a single processor, looking keeps the other end from running.
inline bool has_one_processor() noexcept {
  static const bool one = [] {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) < 2;
  }();
  return one;
}

// For rare waits without a notification. Not a cancellation point. False: a signal arrived.
inline bool sleep_1ms() noexcept {
  timespec moment{0, 1'000'000};
  return raw::sys(SYS_ppoll, nullptr, 0, &moment, nullptr, 0) == 0;
}

// Ends a loop after `ns`.
class SpinLimit {
 public:
  explicit SpinLimit(std::uint64_t ns) noexcept : end_(monotonic_ns() + ns) {}
  [[nodiscard]] bool goes_on() const noexcept {
    for (int i = 0; i < kPauses; ++i) pause();
    return monotonic_ns() < end_;
  }

 private:
  static constexpr int kPauses = 4;
  std::uint64_t end_;
};

}  // namespace exs::sockets
