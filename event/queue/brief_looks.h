// Which looks of a thread are brief. Once in a few, one is at everything: at time, and at the ports that showed nothing of late.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace exs {

// How often a thread looks at memory before it lets others at the shard: some 0.2 us.
inline constexpr unsigned kBriefLooks = 64;

// Counts since the last look at everything, whose turn stays until it is made: a connection that always has something for the
// thread puts it off no longer. Thread: any. A racing count may be lost.
class BriefLooks {
 public:
  // A thread takes what was there already. True: it is to look nevertheless.
  [[nodiscard]] bool take_needs_look() noexcept {
    const std::uint32_t count = next();
    return count % kTakesPerLook == 0 || count >= kLooksPerDrive;
  }
  // False: this look is to be at everything.
  [[nodiscard]] bool are_due() noexcept { return next() < kLooksPerDrive; }
  // Everything has been looked at.
  void looked_at_all() noexcept { count_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kTakesPerLook = 8;
  static constexpr std::uint32_t kLooksPerDrive = 16;

  std::uint32_t next() noexcept {
    const std::uint32_t count = count_.load(std::memory_order_relaxed) + 1;
    count_.store(count, std::memory_order_relaxed);
    return count;
  }

  std::atomic<std::uint32_t> count_{0};
};

}  // namespace exs
