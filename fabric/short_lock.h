// A lock for short or rare sections. It takes one atomic step to lock and a plain store to unlock, where a mutex needs two atomic steps
// and two calls. A waiting thread yields the processor, then sleeps, because the holder may have a lower priority.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>

namespace exs::fabric {

class ShortLock {
 public:
  void lock() noexcept {
    for (int looks = 0; !try_lock(); ++looks) wait(looks);
  }
  [[nodiscard]] bool try_lock() noexcept { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() noexcept { held_.store(false, std::memory_order_release); }

 private:
  void wait(int looks) const noexcept {
    constexpr int kYields = 20;
    constexpr timespec kMoment{0, 50'000};
    for (int i = 0; i < 100 && held_.load(std::memory_order_relaxed); ++i)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    if (looks < kYields) {
      sched_yield();
    } else {
      nanosleep(&kMoment, nullptr);
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace exs::fabric
