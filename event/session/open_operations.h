// The operations of one direction of a session that have been admitted and have not ended.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.h"

namespace exs {

class OpenOperations {
 public:
  // --- Thread: any ---
  // Counts one more operation. EBUSY: a persistent operation owns the direction. EAGAIN: `operations_max` are
  // open.
  Status admit(bool persistent, std::uint32_t operations_max);
  // Takes an admitted operation back that was not posted.
  void withdraw(bool persistent);
  [[nodiscard]] std::uint32_t count() const noexcept {
    const std::uint32_t before = ended_.load(std::memory_order_acquire);
    return admitted_.load(std::memory_order_relaxed) + admitted_here_.load(std::memory_order_relaxed) -
           before;
  }

  // --- Thread: shard ---
  // As admit() of an operation that is not persistent, without a locked instruction. False: it has refused.
  [[nodiscard]] bool admit_here(std::uint32_t operations_max) noexcept {
    if (persistent_.load(std::memory_order_relaxed) || count() >= operations_max) return false;
    admitted_here_.store(admitted_here_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  void end(bool persistent) noexcept {
    if (persistent) persistent_ = false;
    ended_.store(ended_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

 private:
  // Any thread admits; only the shard ends operations, so that an end is a store.
  std::atomic<std::uint32_t> admitted_{0};
  std::atomic<std::uint32_t> admitted_here_{0};  // written by the shard
  std::atomic<std::uint32_t> ended_{0};          // written by the shard
  std::atomic<bool> persistent_{false};          // a persistent operation owns the direction
};

}  // namespace exs
