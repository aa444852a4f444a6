// A kernel of which one call fails: the n-th that can. Linked in place of src/base/kernel.cc.
#pragma once

#include <atomic>
#include <cstdint>

namespace exs::test {

// What becomes of the calls of one process. Lies in memory that processes share, so that another one may end
// the fault's time. Thread: any.
struct FaultPlan {
  static constexpr std::uint32_t kNever = UINT32_MAX;

  std::atomic<bool> counts{false};              // calls count, and the fault may happen, while this is set
  std::atomic<std::uint32_t> fails_at{kNever};  // the call that fails, from 0
  std::atomic<std::uint32_t> calls{0};          // that have been counted
  std::atomic<const char*> failed{nullptr};     // its name; the same address in every process of one program
};

// Null: nothing fails. Before the process has threads.
void follow(FaultPlan* plan);

}  // namespace exs::test
