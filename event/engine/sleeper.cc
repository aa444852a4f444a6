// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/sleeper.h"

#include <sys/timerfd.h>

#include <cerrno>
#include <utility>

#include "base/kernel.h"
#include "base/lazy.h"
#include "base/unique_fd.h"

namespace exs {
namespace {

class TimerfdAlarm final : public Alarm {
 public:
  explicit TimerfdAlarm(UniqueFd timer) : timer_(std::move(timer)) {}

  [[nodiscard]] int descriptor() const noexcept override { return timer_.get(); }
  void set(std::uint64_t after_ns) override {
    const itimerspec when{{0, 0}, to_timespec(after_ns)};
    kernel::timerfd_settime(timer_.get(), 0, &when, nullptr);
  }
  void ring() override { set(1); }
  void clear() override {
    std::uint64_t expirations = 0;
    [[maybe_unused]] const auto taken = kernel::read(timer_.get(), &expirations, sizeof expirations);
  }

 private:
  const UniqueFd timer_;
};

class KernelSleeper final : public Sleeper {
 public:
  Result<int> sleep(std::span<pollfd> watched, std::uint64_t& left_ns, const sigset_t* signals) override {
    const bool limited = left_ns != kNoDeadline;
    timespec left = to_timespec(left_ns);
    const int ready = kernel::ppoll(watched.data(), watched.size(), limited ? &left : nullptr, signals);
    const int error = errno;
    if (limited) left_ns = to_ns(left);
    if (ready < 0) return failure(error);
    return ready;
  }
  Result<std::unique_ptr<Alarm>> make_alarm() override {
    UniqueFd timer(kernel::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (!timer.valid()) return failure(errno);
    return std::make_unique<TimerfdAlarm>(std::move(timer));
  }
};

}  // namespace

TimeSource TimeSource::real() {
  static constinit Lazy<KernelSleeper> sleeper;
  return {Clock(), sleeper.get()};
}

}  // namespace exs
