// A descriptor that is readable from raise() to lower().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace exs::fabric {

class Signal {
 public:
  explicit Signal(bool is_wanted) : descriptor_(is_wanted ? eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1) {
    if (is_wanted && descriptor_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~Signal() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  void raise() const noexcept {
    if (descriptor_ >= 0) eventfd_write(descriptor_, 1);
  }
  void lower() const noexcept {
    eventfd_t value = 0;
    if (descriptor_ >= 0) eventfd_read(descriptor_, &value);
  }

 private:
  const int descriptor_;
};

}  // namespace exs::fabric
