// The time worth spending on looking before a sleep: at most the cost of a sleep and its wake-up, less after
// looks in vain. Thread: the owner's; a race makes the value slightly wrong.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::sockets {

struct Patience {
  static constexpr std::uint32_t kFirstNs = 10'000;
  static constexpr std::uint32_t kMostNs = 50'000;
  static constexpr std::uint32_t kLeastNs = 2'000;
  static constexpr std::uint32_t kRetryAfter = 64;

  // All zero at first, so that tables of it cost nothing at a start.
  std::int32_t beyond_first_ns = 0;
  std::uint32_t skipped = 0;

  // The time to spend now; 0: none.
  std::uint32_t allowance() noexcept {
    if (const std::uint32_t now = ns(); now >= kLeastNs) return now;
    if (++skipped < kRetryAfter) return 0;
    skipped = 0;
    set(kFirstNs);
    return kFirstNs;
  }
  // The next allowance will not be 0.
  [[nodiscard]] bool allows() const noexcept { return ns() >= kLeastNs || skipped + 1 >= kRetryAfter; }
  [[nodiscard]] bool is_gone() const noexcept { return ns() < kLeastNs; }
  void skip() noexcept { ++skipped; }
  void found() noexcept { set(ns() * 2 > kMostNs ? kMostNs : ns() * 2); }
  void missed() noexcept { set(ns() / 2); }

 private:
  [[nodiscard]] std::uint32_t ns() const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(kFirstNs) + beyond_first_ns);
  }
  void set(std::uint32_t ns) noexcept {
    beyond_first_ns = static_cast<std::int32_t>(ns) - static_cast<std::int32_t>(kFirstNs);
  }
};

}  // namespace exs::sockets
