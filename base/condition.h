// A condition variable for a Mutex. It is std::condition_variable, known to the thread-safety analysis. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#include <mutex>

#include "base/annotations.h"
#include "base/drive_lock.h"

namespace exs {

class Condition {
 public:
  // A wait of a held mutex releases it meanwhile. It may return without notify_*(), so callers check what they wait for.
  void wait(Mutex& mutex) EXS_REQUIRES(mutex) {
    Adopted lock(mutex);
    condition_.wait(lock.inner);
  }
  // `end_ns` counts as monotonic_ns() does; from INT64_MAX on there is no limit. Returns false if the time is over.
  bool wait_until(Mutex& mutex, std::uint64_t end_ns) EXS_REQUIRES(mutex) {
    Adopted lock(mutex);
    if (end_ns < kNoLimitNs) {
      const std::chrono::nanoseconds end(static_cast<std::int64_t>(end_ns));
      const std::chrono::steady_clock::time_point limit(end);
      return condition_.wait_until(lock.inner, limit) == std::cv_status::no_timeout;
    }
    condition_.wait(lock.inner);
    return true;
  }
  void notify_one() noexcept { condition_.notify_one(); }
  void notify_all() noexcept { condition_.notify_all(); }

 private:
  static constexpr auto kNoLimitNs = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

  // The caller's hold on the mutex, in the form that the standard library takes. The caller has it again at the end.
  struct Adopted {
    explicit Adopted(Mutex& held) : mutex(held), inner(held.mutex_, std::adopt_lock) {
      mutex.forget_holder();
    }
    ~Adopted() {
      mutex.note_holder();
      inner.release();
    }
    Adopted(const Adopted&) = delete;
    Adopted& operator=(const Adopted&) = delete;
    Mutex& mutex;
    std::unique_lock<std::mutex> inner;
  };

  std::condition_variable condition_;
};

}  // namespace exs
