// How the threads of a shard sleep: every sleep of the engine thread, of leaders and of followers goes
// through one Sleeper, so that a test or a simulation can put virtual time in the place of real time.
#pragma once

#include <poll.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <span>

#include "event/engine/clock.h"
#include "src/base/status.h"

namespace exs {

// Wakes the one thread that sleeps on its descriptor. Thread: any.
class Alarm {
 public:
  virtual ~Alarm() = default;
  // Readable from when the alarm goes off until clear().
  [[nodiscard]] virtual int descriptor() const noexcept = 0;
  // Goes off once, after so long and not before; replaces what was set. `after_ns`: more than 0.
  virtual void set(std::uint64_t after_ns) = 0;
  // Goes off at once.
  virtual void ring() = 0;
  // Takes back what went off, not what is set.
  virtual void clear() = 0;
};

// Thread: any.
class Sleeper {
 public:
  virtual ~Sleeper() = default;
  // As ppoll(2): sleeps until one of `watched` is ready, `left_ns` has passed (kNoDeadline: no limit) or a
  // signal was caught (EINTR). `signals`: the mask to sleep with; null: the thread's own. Returns how many
  // are ready; `left_ns` becomes what is left of it, also on error.
  virtual Result<int> sleep(std::span<pollfd> watched, std::uint64_t& left_ns, const sigset_t* signals) = 0;
  // EMFILE and the like: no descriptor to be had.
  virtual Result<std::unique_ptr<Alarm>> make_alarm() = 0;
};

// Where a shard's time comes from. Both outlive the shard.
struct TimeSource {
  Clock clock;
  Sleeper& sleeper;

  // CLOCK_MONOTONIC, ppoll and a timerfd.
  static TimeSource real();
};

}  // namespace exs
