// A descriptor that is readable from raise() to lower().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

#include "base/kernel.h"
#include "base/unique_fd.h"

namespace exs::fabric {

class Signal {
 public:
  // Throws std::system_error if there is no descriptor left.
  explicit Signal(bool is_wanted)
      : descriptor_(is_wanted ? kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) {
    if (is_wanted && !descriptor_.valid()) throw std::system_error(errno, std::generic_category(), "eventfd");
  }

  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  void raise() const noexcept {
    const std::uint64_t one = 1;
    if (descriptor_.valid()) kernel::write(descriptor(), &one, sizeof one);
  }
  void lower() const noexcept {
    std::uint64_t count = 0;
    if (descriptor_.valid()) kernel::read(descriptor(), &count, sizeof count);
  }

 private:
  const UniqueFd descriptor_;
};

}  // namespace exs::fabric
