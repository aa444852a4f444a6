// Rings a sleeper's port some time after work requests were left pending without a waiter. A request that
// cannot complete shows a peer's silence. This is a timer and no deadline, so a thread that sleeps between
// two messages need not know the time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/kernel.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "src/provider/poller.h"

namespace exs::verbs {

// Thread: shard.
class RecheckTimer final : public Pollable {
 public:
  // `poller`: the port's; outlives this.
  Status open(Poller& poller) {
    timer_ = UniqueFd(kernel::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    return timer_.valid() ? poller.add(timer_.get(), EPOLLIN, *this) : Status(errno);
  }
  void set() {
    if (is_set_) return;
    constexpr itimerspec kAfter{{0, 0}, {0, 100'000'000}};
    is_set_ = kernel::timerfd_settime(timer_.get(), 0, &kAfter, nullptr) == 0;
  }
  void ready(std::uint32_t) override {
    std::uint64_t expirations = 0;
    [[maybe_unused]] const auto got = kernel::read(timer_.get(), &expirations, sizeof expirations);
    is_set_ = false;
  }

 private:
  UniqueFd timer_;
  bool is_set_ = false;
};

}  // namespace exs::verbs
