// A clock that a simulation moves. It also moves a little whenever it is read, so that a thread that reads it until a
// deadline gets there.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace exs {

// Thread: any.
class VirtualClock {
 public:
  static constexpr std::uint64_t kStartNs = 1'000'000'000;

  // `tick_ns`: how far each look() moves it.
  void restart(std::uint64_t tick_ns) noexcept {
    tick_ns_ = tick_ns;
    now_ns_ = kStartNs;
  }
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return now_ns_.load(std::memory_order_relaxed); }
  std::uint64_t look() noexcept {
    const std::uint64_t tick_ns = tick_ns_.load(std::memory_order_relaxed);
    return now_ns_.fetch_add(tick_ns, std::memory_order_relaxed) + tick_ns;
  }
  // Never moves back.
  void advance_to(std::uint64_t ns) noexcept {
    std::uint64_t now_ns = now_ns_;
    while (now_ns < ns && !now_ns_.compare_exchange_weak(now_ns, ns)) continue;
  }

 private:
  std::atomic<std::uint64_t> now_ns_{kStartNs};
  std::atomic<std::uint64_t> tick_ns_{0};
};

}  // namespace exs
