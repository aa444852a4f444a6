// The conclusions from periods of silence. A starved or stopped process sees the end of a period late. An
// answer that it has not seen by then may wait in the kernel, or its question may not have left. So such a
// period proves nothing about the peer and does not count. The next periods are longer by the delay. On a
// machine that is always late, periods count from then on.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace exs {

// Pure: the caller passes the time. Thread: one at a time.
class SilentPeriods {
 public:
  // A period is at most so many times as long as was asked for.
  static constexpr std::uint64_t kLongestPeriods = 8;
  // A period's end that is seen within this part of the period, or this time, is seen in time.
  static constexpr std::uint64_t kPunctualPart = 8;
  // An engine that stands by looks every millisecond.
  static constexpr std::uint64_t kPunctualNs = 2 * kNsPerMs;

  enum class Proof : std::uint8_t { kLives, kIsSilent, kIsGone };

  // Returns due_ns().
  std::uint64_t start(std::uint64_t period_ns, std::uint64_t now_ns) noexcept {
    period_ns_ = period_ns;
    silent_ = 0;
    extra_ns_ = 0;
    return due_ns_ = now_ns + period_ns_;
  }
  // The time of the next end().
  [[nodiscard]] std::uint64_t due_ns() const noexcept { return due_ns_; }

  // A period has ended. `was_heard`: the peer sent something in it.
  Proof end(std::uint64_t now_ns, bool was_heard) noexcept {
    const std::uint64_t late_ns = now_ns - std::min(now_ns, due_ns_);
    const std::uint64_t punctual_ns = std::max(period_ns_ / kPunctualPart, kPunctualNs);
    const bool counts = late_ns <= punctual_ns + extra_ns_;
    if (late_ns <= punctual_ns) extra_ns_ /= 2;
    if (!counts) extra_ns_ = std::min(late_ns, (kLongestPeriods - 1) * period_ns_);
    due_ns_ = now_ns + period_ns_ + extra_ns_;
    if (was_heard) {
      silent_ = 0;
      return Proof::kLives;
    }
    if (counts) ++silent_;
    return silent_ < 2 ? Proof::kIsSilent : Proof::kIsGone;
  }

 private:
  std::uint64_t period_ns_ = 0;
  std::uint64_t extra_ns_ = 0;  // of this period
  std::uint64_t due_ns_ = 0;
  int silent_ = 0;  // counting periods since the peer last sent something
};

}  // namespace exs
