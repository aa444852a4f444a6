// A share of a processor, with a burst at first and after a rest. Pure. Thread: one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/clock.h"

namespace exs::svc {

class Budget {
 public:
  Budget(int percent, std::uint64_t burst_ns)
      : percent_(percent), burst_(static_cast<std::int64_t>(burst_ns) * kWhole), left_(burst_) {}

  void spend(std::uint64_t used_ns, std::uint64_t now) {
    fill(now);
    left_ -= static_cast<std::int64_t>(used_ns) * kWhole;
  }
  [[nodiscard]] bool is_spent(std::uint64_t now) {
    fill(now);
    return left_ <= 0;
  }
  [[nodiscard]] bool is_whole(std::uint64_t now) {
    fill(now);
    return left_ == burst_;
  }

 private:
  static constexpr std::int64_t kWhole = 100;
  static constexpr std::uint64_t kLongestNs = INT64_MAX / kWhole / 2;

  void fill(std::uint64_t now) {
    const std::uint64_t since_ns = std::min(time_left(now, filled_ns_), kLongestNs);
    filled_ns_ = std::max(filled_ns_, now);
    left_ = std::min(left_ + static_cast<std::int64_t>(since_ns) * percent_, burst_);
  }

  const std::int64_t percent_;
  const std::int64_t burst_;  // in hundredths of ns, so that a percentage loses nothing
  std::int64_t left_;         // below 0: it has used more than its share
  std::uint64_t filled_ns_ = 0;
};

// Measures the cost of a step of this thread.
class Cost {
 public:
  [[nodiscard]] std::uint64_t ns() const { return clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns_; }

 private:
  std::uint64_t begin_ns_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
};

}  // namespace exs::svc
