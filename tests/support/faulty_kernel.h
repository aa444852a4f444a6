// A kernel interface whose n-th fallible call fails. Linked in place of base/kernel.cc.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

namespace exs::test {

// The call of a process that fails. The plan lies in shared memory, so that another process can end the
// counting. Thread: any.
struct FaultPlan {
  static constexpr std::uint32_t kNever = UINT32_MAX;

  std::atomic<bool> counts{false};              // calls count, and the fault may happen, while this is set
  std::atomic<std::uint32_t> fails_at{kNever};  // the call that fails, from 0
  std::atomic<std::uint32_t> calls{0};          // number of calls counted so far
  std::atomic<const char*> failed{nullptr};     // its name; the same address in every process of one program
};

// Null: no call fails. Call it before the process has threads.
void follow(FaultPlan* plan);

}  // namespace exs::test
