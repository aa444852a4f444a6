// How long a thread waits: until a moment, or for a duration. A duration needs no clock: sleeps reduce it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>

#include "src/provider/provider.h"

namespace exs {

class WaitLimit {
 public:
  // `deadline_ns` is a time of the shard's clock; kNoDeadline: no limit; 0: look once.
  static WaitLimit until(std::uint64_t deadline_ns) noexcept {
    return WaitLimit(deadline_ns < kLasts ? deadline_ns : kNoDeadline);
  }
  // kNoDeadline: no limit; 0: look once.
  static WaitLimit lasting(std::uint64_t ns) noexcept { return WaitLimit(ns == 0 ? 0 : duration(ns)); }

  [[nodiscard]] bool is_none() const noexcept { return word_ == kNoDeadline; }
  [[nodiscard]] bool has_passed() const noexcept { return word_ == 0 || word_ == kLasts; }
  // True: left_ns() needs the time.
  [[nodiscard]] bool is_moment() const noexcept { return word_ < kLasts; }
  [[nodiscard]] std::uint64_t left_ns(std::uint64_t now_ns) const noexcept {
    if (is_none()) return kNoDeadline;
    if (!is_moment()) return word_ - kLasts;
    return word_ > now_ns ? word_ - now_ns : 0;
  }
  void slept(std::uint64_t ns) noexcept {
    if (is_moment() || is_none()) return;
    word_ -= std::min(ns, word_ - kLasts);
  }
  // Turns a duration into the moment at which it ends, and returns that.
  std::uint64_t fix(std::uint64_t now_ns) noexcept {
    if (!is_moment() && !is_none()) *this = until(now_ns + (word_ - kLasts));
    return word_;
  }

 private:
  explicit WaitLimit(std::uint64_t word) noexcept : word_(word) {}
  static std::uint64_t duration(std::uint64_t ns) noexcept { return ns < kLasts ? ns | kLasts : kNoDeadline; }

  // A duration of 292 years counts as no limit.
  static constexpr std::uint64_t kLasts = std::uint64_t{1} << 63;

  std::uint64_t word_;
};

}  // namespace exs
