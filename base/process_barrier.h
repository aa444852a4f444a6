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

// Likewise in every thread of every process of this host that is prepared, with the same hand-shake between processes. The side that
// has it executed asks whether that was so.
class HostBarrier {
 public:
  // Call it before this process takes either side. False: it cannot.
  static bool prepare() noexcept;
  [[nodiscard]] static bool is_prepared() noexcept { return is_prepared_.load(std::memory_order_relaxed); }
  // A kernel that refuses later: a moment passes, in which the stores of others become visible.
  static void execute() noexcept;

 private:
  static std::atomic<bool> is_prepared_;
};

}  // namespace exs
