// A memory barrier in every thread of the process, by membarrier(2). With it one side of a hand-shake costs plain stores and loads: the
// other side, which is rare, has the barrier executed in all threads.
//
// Where the kernel refuses, is_available() says so from the start. A filter that comes later may refuse as well: then the stores of
// other threads become visible within moments, which process_barrier() sleeps, and is_available() is false from then on.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>

namespace exs {

// Thread: any.
class ProcessBarrier {
 public:
  // Call it before anything relies on the barrier, and again in a child after fork.
  static void prepare() noexcept;
  [[nodiscard]] static bool is_available() noexcept { return is_available_.load(std::memory_order_relaxed); }
  // What other threads have stored before it is visible to this thread, and what this one has stored to them.
  static void execute() noexcept;

 private:
  static std::atomic<bool> is_available_;
};

}  // namespace exs
