// The coroutines of a loop that wait for a time.
// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_CPP_TIMERS_HPP
#define EXS_CPP_TIMERS_HPP

#include <exs/cpp/error.hpp>

#include <algorithm>
#include <chrono>
#include <coroutine>
#include <map>
#include <new>
#include <optional>
#include <system_error>

namespace exs::cpp {

using Clock = std::chrono::steady_clock;

namespace detail {

// What is called when its time has come, or (ECANCELED) when the loop ends. It is called once, or removed.
class Timer {
 public:
  Timer() = default;
  virtual ~Timer() = default;
  Timer(Timer&&) noexcept {}  // before it is added
  Timer& operator=(Timer&&) = delete;
  virtual void expire(std::error_code why) = 0;

 private:
  friend class Timers;
  std::optional<std::multimap<Clock::time_point, Timer*>::iterator> place_;
};

class Timers {
 public:
  // ENOMEM.
  std::error_code add(Clock::time_point due, Timer& timer) noexcept try {
    timer.place_ = all_.emplace(due, &timer);
    return {};
  } catch (const std::bad_alloc&) {
    return error_of(ENOMEM);
  }
  void remove(Timer& timer) noexcept {
    if (timer.place_) all_.erase(*timer.place_);
    timer.place_.reset();
  }
  [[nodiscard]] bool empty() const noexcept { return all_.empty(); }
  // How long until the first is due; none: there is none.
  [[nodiscard]] std::optional<Clock::duration> left() const {
    if (all_.empty()) return std::nullopt;
    return std::max(all_.begin()->first - Clock::now(), Clock::duration::zero());
  }
  // False: none was due.
  bool expire() {
    if (all_.empty()) return false;
    const Clock::time_point now = Clock::now();
    bool any = false;
    for (; !all_.empty() && all_.begin()->first <= now; any = true) expire_first({});
    return any;
  }
  void cancel_all() {
    while (!all_.empty()) expire_first(error_of(ECANCELED));
  }

 private:
  void expire_first(std::error_code why) {
    Timer& first = *all_.begin()->second;
    remove(first);
    first.expire(why);
  }

  std::multimap<Clock::time_point, Timer*> all_;
};

}  // namespace detail
}  // namespace exs::cpp

#endif  // EXS_CPP_TIMERS_HPP
