// SPDX-License-Identifier: BSD-2-Clause
#include "base/process_barrier.h"

#include <linux/membarrier.h>
#include <time.h>

#include "base/kernel.h"

namespace exs {
namespace {

bool membarrier(int command) noexcept {
  return kernel::membarrier(command) == 0;
}

void wait_for_stores() noexcept {
  constexpr long kMomentNs = 10'000'000;
  const timespec moment{0, kMomentNs};
  kernel::nanosleep(&moment, nullptr);
}

}  // namespace

std::atomic<bool> ProcessBarrier::is_available_{false};
std::atomic<bool> HostBarrier::is_prepared_{false};

void ProcessBarrier::prepare() noexcept {
  if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
    is_available_.store(true, std::memory_order_relaxed);
}

void ProcessBarrier::execute() noexcept {
  if (is_available() && membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return;
  is_available_.store(false, std::memory_order_seq_cst);
  wait_for_stores();
}

bool HostBarrier::prepare() noexcept {
  const bool is_prepared =
      membarrier(MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED) && membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED);
  is_prepared_.store(is_prepared, std::memory_order_relaxed);
  return is_prepared;
}

void HostBarrier::execute() noexcept {
  if (membarrier(MEMBARRIER_CMD_GLOBAL_EXPEDITED)) return;
  wait_for_stores();
}

}  // namespace exs
