// SPDX-License-Identifier: BSD-2-Clause
#include "base/locks.h"

#include "base/backoff.h"

namespace exs {

void LeafLock::wait() const noexcept {
  Backoff backoff;
  while (held_.load(std::memory_order_relaxed)) backoff.wait();
}

}  // namespace exs
