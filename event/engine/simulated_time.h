// The time of a process that simulates its network: it stands while a thread works, and when all threads that wait sleep, it
// moves at once to the next moment at which one of them is due.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/drive_lock.h"
#include "base/virtual_clock.h"
#include "event/engine/sleeper.h"

namespace exs {

// Design notes
//  1. A thread takes part from its first sleep until it ends. With one such thread each sleep is over at once, so the run
//     of a program with one thread is the same whenever it is repeated.
//  2. With several threads, one that stays away (it computes, or waits for something else) is waited for in real time,
//     for kPatienceMs. Then it takes no part until its next sleep.
// Outlives the shards that use it. Thread: any.
class SimulatedTime final : public Sleeper {
 public:
  // `interrupts` says whether the sleep that begins now ends as if by a signal. Thread: any.
  SimulatedTime(VirtualClock& clock, std::function<bool()> interrupts)
      : clock_(clock), interrupts_(std::move(interrupts)) {}

  // No thread but the calling one takes part any more.
  ~SimulatedTime() override;
  SimulatedTime(const SimulatedTime&) = delete;
  SimulatedTime& operator=(const SimulatedTime&) = delete;

  [[nodiscard]] TimeSource source();
  Result<int> sleep(std::span<pollfd> watched, std::uint64_t& left_ns, const sigset_t* signals) override;
  Result<std::unique_ptr<Alarm>> make_alarm() override;

 private:
  class SimulatedAlarm;
  struct Sleep;
  struct Participation;

  static Participation& participation();
  void join() EXS_REQUIRES(mutex_);
  void leave(std::uint64_t round) EXS_EXCLUDES(mutex_);
  Result<int> wait(Sleep& own, std::span<pollfd> watched, const sigset_t* signals, bool for_ever)
      EXS_REQUIRES(mutex_);
  void leave_out_others() EXS_REQUIRES(mutex_);
  // Moves the clock to the next moment, unless one of the sleepers is due already. False: there is no such moment.
  bool move_on() EXS_REQUIRES(mutex_);

  VirtualClock& clock_;
  const std::function<bool()> interrupts_;
  Mutex mutex_;
  std::size_t members_ EXS_GUARDED_BY(mutex_) = 0;
  std::uint64_t round_ EXS_GUARDED_BY(mutex_) = 1;  // goes up when those that stayed away are left out
  std::vector<Sleep*> sleeps_ EXS_GUARDED_BY(mutex_);
  std::vector<SimulatedAlarm*> alarms_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs
