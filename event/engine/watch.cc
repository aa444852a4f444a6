#include "event/engine/watch.h"

#include "src/base/kernel.h"

namespace exs {

void Watch::wake_leader() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(wake_fd_.get(), &one, sizeof one);
}

void Watch::clear_wake() const {
  std::uint64_t wakes = 0;
  [[maybe_unused]] const auto taken = kernel::read(wake_fd_.get(), &wakes, sizeof wakes);
}

}  // namespace exs
