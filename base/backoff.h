// Waits for another thread that is about to act and sends no signal. It spins first, then yields the
// processor, then sleeps, because that thread may be preempted and have a lower priority.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>
#include <time.h>

#include "base/kernel.h"

namespace exs {

inline void spin_hint() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Thread: the owner's.
class Backoff {
 public:
  void wait() noexcept {
    ++waits_;
    if (waits_ < kSpins) {
      spin_hint();
    } else if (waits_ < kSpins + kYields) {
      kernel::sched_yield();
    } else {
      constexpr long kSleepNs = 50'000;
      const timespec moment{0, kSleepNs};
      kernel::nanosleep(&moment, nullptr);
    }
  }

 private:
  static constexpr int kSpins = 100;
  static constexpr int kYields = 20;
  int waits_ = 0;
};

}  // namespace exs
