// How the threads of a shard sleep. Every sleep of the engine thread, of leaders and of followers uses one
// Sleeper, so that a test or a simulation can replace real time by virtual time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "event/engine/clock.h"

namespace exs {

// Wakes the one thread that sleeps on its descriptor. Thread: any.
class Alarm {
 public:
  virtual ~Alarm() = default;
  // A descriptor that is readable from the alarm until clear().
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // Sets the alarm to go off once, not before `after_ns` (more than 0). Replaces an earlier time.
  virtual void set(std::uint64_t after_ns) = 0;
  // Goes off at once.
  virtual void ring() = 0;
  // Acknowledges an alarm that has gone off. One that is set stays set.
  virtual void clear() = 0;
};

// Thread: any.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // Like ppoll(2): sleeps until one of `watched` is ready, `left_ns` has passed (kNoDeadline: no limit), or a
  // signal was caught (EINTR). `signals` is the mask to sleep with; null: the thread's own. Returns how many
  // descriptors are ready; `left_ns` becomes the remaining time, also on error.
  virtual Result<int> sleep(std::span<pollfd> watched, std::uint64_t& left_ns, const sigset_t* signals) = 0;
  // EMFILE and the like: no descriptor is free.
  virtual Result<std::unique_ptr<Alarm>> make_alarm() = 0;
};

// The source of a shard's time. Both members outlive the shard.
struct TimeSource {
  Clock clock;
  Sleeper& sleeper;
  bool is_simulated = false;  // waiting threads do all the work, while they can

  // CLOCK_MONOTONIC, ppoll and a timerfd.
  static TimeSource real();
};

}  // namespace exs
