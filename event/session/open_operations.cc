// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/open_operations.h"

#include <cerrno>

namespace exs {

Status OpenOperations::admit(bool persistent, std::uint32_t operations_max) {
  if (persistent ? persistent_.exchange(true) : persistent_.load()) return Status(EBUSY);
  const std::uint32_t ended = ended_.load(std::memory_order_acquire);
  const std::uint32_t here = admitted_here_.load(std::memory_order_relaxed);
  if (admitted_.fetch_add(1, std::memory_order_relaxed) + here - ended >= operations_max) {
    withdraw(persistent);
    return Status(EAGAIN);
  }
  return Status();
}

void OpenOperations::withdraw(bool persistent) {
  if (persistent) persistent_ = false;
  admitted_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace exs
