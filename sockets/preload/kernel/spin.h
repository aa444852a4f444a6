// Tools for looking before a sleep. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {

inline void pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  asm volatile("yield");
#endif
}

// On a single processor, looking keeps the other end from running.
bool has_one_processor() noexcept;

// For rare waits without a notification. Not a cancellation point. False: a signal arrived.
inline bool sleep_1ms() noexcept {
  timespec moment = to_timespec(kNsPerMs);
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
