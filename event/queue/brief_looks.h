// Which first looks of waits are brief. Once in a few, one is at everything: at time, and at the ports that showed nothing of late.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace exs {

// How often a thread looks at memory before it lets others at the shard: some 0.2 us.
inline constexpr unsigned kBriefLooks = 64;

// Thread: any. A racing count may be lost.
class BriefLooks {
 public:
  [[nodiscard]] bool are_due() noexcept {
    const std::uint32_t looks = looks_.load(std::memory_order_relaxed) + 1;
    looks_.store(looks, std::memory_order_relaxed);
    return looks % kLooksPerDrive != 0;
  }

 private:
  static constexpr std::uint32_t kLooksPerDrive = 16;

  std::atomic<std::uint32_t> looks_{0};
};

}  // namespace exs
