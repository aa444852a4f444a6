// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/watch.h"

#include "base/kernel.h"

namespace exs {

// If a wake-up is pending, the leader has not looked yet and will also see this cause.
void Watch::wake_leader() {
  if (wake_pending_.exchange(true)) return;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(wake_fd_.get(), &one, sizeof one);
}

// An exchange, so that what was done before a wake-up that found this one pending is seen from here on.
void Watch::clear_wake() {
  std::uint64_t wakes = 0;
  [[maybe_unused]] const auto taken = kernel::read(wake_fd_.get(), &wakes, sizeof wakes);
  wake_pending_.exchange(false);
}

}  // namespace exs
