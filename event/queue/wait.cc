// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/wait.h"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <csignal>
#include <new>

#include "base/held_signals.h"
#include "base/kernel.h"
#include "event/engine/shard.h"
#include "event/queue/callers_events.h"

namespace exs {
namespace {

// How often a spinning thread lets signals in.
constexpr std::uint64_t kSignalCheckNs = 500'000;

// How long a wait spins before it holds signals back. Saves two system calls in every short wait (0.15 us of
// 4.1). A signal caught in this moment counts as caught before the call, as with any blocking call. A wait
// that does not spin spends the moment around its first sleep: it polls memory once before and once after.
constexpr std::uint64_t kBriefSpinNs = 20'000;

// Asking for the time costs as much as polling shared memory; nothing that needs it is that exact.
constexpr unsigned kPollsPerTime = 8;

// The sleep of a follower that no thread can wake. A process without free descriptors or memory still closes
// sockets. Its queue may lack a descriptor to sleep on, or room to note the sleeper.
constexpr std::uint64_t kBlindSleepNs = 1'000'000;

// How many of these at one shard before those at the next, where operations of several shards name the queue.
constexpr unsigned kLooksInTurn = 32;

// Looks at each shard in turn until something has come. False: none of them can be looked at so.
bool look_in_turn(EventQueue& queue, unsigned looks, CallersEvents& direct) {
  bool has_looked = false;
  const auto look_at = [&](Shard& shard) {
    if (direct.is_full) return;
    has_looked |= shard.look_briefly(std::min(looks, kLooksInTurn), direct, direct.is_full);
  };
  for (unsigned left = looks; left > 0; left -= std::min(left, kLooksInTurn)) {
    look_at(*queue.home());
    queue.far_shards().each(look_at);
    if (!has_looked || direct.count > 0 || queue.has_events()) break;
  }
  return has_looked;
}

// Events that come in the look go straight to the caller, if it has room for `max`: then none waits in the queue, and one is enough. Adds
// to `count`. False: a look at more is needed.
bool look_briefly(EventQueue& queue, unsigned looks, exs_event_t* out, std::size_t max, std::size_t& count) {
  CallersEvents direct{&queue, out, max};
  const bool has_looked = queue.far_shards().empty()
                              ? queue.home()->look_briefly(looks, direct, direct.is_full)
                              : look_in_turn(queue, looks, direct);
  if (direct.count > 0) queue.took_directly(direct.count);
  count += direct.count;
  return has_looked;
}

void drive_all(EventQueue& queue, std::uint64_t now_ns, bool keeps_engine_off) {
  queue.brief_looks().looked_at_all();
  queue.home()->drive(now_ns, keeps_engine_off);
  queue.far_shards().each([&](Shard& shard) { shard.drive(now_ns, keeps_engine_off); });
}

class Wait {
 public:
  Wait(EventQueue& queue, exs_event_t* out, std::size_t min, std::size_t max, WaitLimit limit,
       ReadSection* section, std::size_t& count)
      : queue_(queue),
        home_(*queue.home()),
        out_(out),
        min_(min),
        max_(max),
        sleeps_at_once_(queue.wait_mode() == EXS_WAIT_NOTIFY),
        limit_(limit),
        section_(section),
        count_(count) {}

  Status run() {
    // An application that sleeps on the queue's descriptor calls only now and then: the engine stays on
    // watch.
    keeps_engine_off_ = !queue_.has_ready_fd();
    if (taken()) {
      if (queue_.brief_looks().take_needs_look() && !looks_briefly(1)) poll_once();
      return Status();
    }
    const EventQueue::TakeScope taking(queue_, min_);
    if (limit_.has_passed()) {
      if (!looks_briefly(1)) drive(now());
      return taken() ? Status() : take_what_is_there();
    }
    if (found_at_first()) return Status();
    if (section_ != nullptr) {
      held_ = queue_.shared_from_this();
      section_->leave();
    }
    const EventQueue::WaitScope waiting(queue_);
    if (!spins_) {
      const Status status = first_sleep();
      if (count_ > 0) note_end(home_.clock().now_ns(), true);
      if (count_ > 0 || !status.ok()) return count_ > 0 ? Status() : status;
    }
    return wait_at_length();
  }

 private:
  Status wait_at_length() {
    const HeldSignals signals;
    Status status = spin(signals);
    if (count_ > 0) return Status();
    while (status.ok() && count_ == 0 && !expired_) status = sleep(signals);
    if (count_ > 0) note_end(home_.clock().now_ns(), true);
    if (count_ > 0) return Status();
    return status.ok() ? take_what_is_there() : status;
  }

  bool taken() {
    if (count_ == 0) count_ = queue_.take(out_, min_, max_);
    if (count_ > 0) queue_.spin_choice().took(count_);
    return count_ > 0;
  }

  Status take_what_is_there() {
    if (queue_.closed()) return Status(EBADF);
    count_ = queue_.take(out_, 1, max_);
    return Status();
  }

  bool found_at_first() {
    if (looks_briefly(kBriefLooks) && taken()) return true;
    poll_once();
    if (taken()) return true;
    spins_ = is_to_spin();
    return spins_ && spin_briefly();
  }

  [[nodiscard]] bool is_to_spin() const {
    switch (queue_.wait_mode()) {
      case EXS_WAIT_NOTIFY: return false;
      case EXS_WAIT_BUSY_POLL: return true;
      default: return queue_.spin_choice().is_to_spin();
    }
  }

  // Records a wait that ended with an event, for later waits.
  void note_end(std::uint64_t now_ns, bool has_slept) {
    if (!sleeps_at_once_) queue_.spin_choice().ended(spins_, has_slept, looked_ns_, now_ns);
  }

  // The first look of a call.
  bool looks_briefly(unsigned looks) {
    if (!keeps_engine_off_ || sleeps_at_once_ || !queue_.brief_looks().are_due()) return false;
    return look_briefly(looks);
  }

  bool look_briefly(unsigned looks) {
    return exs::look_briefly(queue_, looks, out_, min_ <= 1 && count_ == 0 ? max_ : 0, count_);
  }

  void poll_once() {
    if (sleeps_at_once_) {
      queue_.brief_looks().looked_at_all();
      poll_memory(ReadyPorts());
    } else {
      looked_ns_ = now();
      drive(looked_ns_);
    }
  }

  // The time; from then on the limit is a moment.
  std::uint64_t now() {
    const std::uint64_t now_ns = home_.clock().now_ns();
    deadline_ns_ = limit_.fix(now_ns);
    return now_ns;
  }

  // Drives a few times, all of them at this time.
  bool found_by_driving(std::uint64_t now_ns) {
    drive(now_ns);
    if (taken()) return true;
    for (unsigned i = 1; i < kPollsPerTime; ++i) {
      if (!look_briefly(kBriefLooks)) drive(now_ns);
      if (taken()) return true;
    }
    return false;
  }

  void drive(std::uint64_t now_ns) { drive_all(queue_, now_ns, keeps_engine_off_); }

  // From here on other threads bring what comes to the far shards.
  void leave_far_shards() {
    queue_.far_shards().each([](Shard& shard) { shard.stop_driving(); });
  }

  // Takes in what memory shows; more if it is time for that.
  void poll_memory(const ReadyPorts& ready) {
    if (!home_.poll_memory(keeps_engine_off_, ready)) home_.drive(now(), keeps_engine_off_, ready);
  }

  // The first moments of a wait, before it is worth holding signals back.
  bool spin_briefly() {
    const std::uint64_t start_ns = looked_ns_;
    spin_end_ns_ = std::min(spin_end(start_ns), deadline_ns_);
    const std::uint64_t brief_end_ns = std::min(start_ns + kBriefSpinNs, spin_end_ns_);
    for (std::uint64_t now_ns = start_ns; now_ns < brief_end_ns; now_ns = home_.clock().now_ns()) {
      if (!found_by_driving(now_ns)) continue;
      note_end(now_ns, false);
      return true;
    }
    return false;
  }

  [[nodiscard]] std::uint64_t spin_end(std::uint64_t start_ns) const {
    if (!spins_) return start_ns;
    switch (queue_.wait_mode()) {
      case EXS_WAIT_BUSY_POLL: return kNoDeadline;
      default: return start_ns + std::min(queue_.spin_ns(), kNoDeadline - start_ns);
    }
  }

  Status spin(const HeldSignals& signals) {
    if (!spins_) return Status();
    std::uint64_t now_ns = home_.clock().now_ns();
    std::uint64_t signal_check_ns = now_ns + kSignalCheckNs;
    for (; now_ns < spin_end_ns_; now_ns = home_.clock().now_ns()) {
      if (found_by_driving(now_ns)) {
        note_end(now_ns, false);
        return Status();
      }
      if (now_ns < signal_check_ns) continue;
      signal_check_ns = now_ns + kSignalCheckNs;
      if (const Status status = signals.let_in(); !status.ok()) return status;
      if (queue_.closed()) return Status(EBADF);
    }
    return Status();
  }

  Status sleep(const HeldSignals& signals) {
    const Status status = home_.try_lead() ? lead(signals) : follow(signals.mask());
    if (!taken() && !limit_.is_none() && limit_.left_ns(now()) == 0) expired_ = true;
    if (queue_.closed()) return Status(EBADF);
    return status;
  }

  // A leader may be woken without an event for it, for example by reads that its process serves. These also
  // come one after the other, and a wake-up for each would slow them down.
  Status spin_while_busy(const HeldSignals& signals, std::uint64_t now_ns) {
    std::uint64_t seen = arrivals_;
    std::uint64_t end_ns = now_ns;
    std::uint64_t signal_check_ns = now_ns + kSignalCheckNs;
    for (; !queue_.is_due(min_); now_ns = home_.clock().now_ns()) {
      if (home_.arrivals() != seen) {
        seen = home_.arrivals();
        end_ns = spin_end(now_ns);
      }
      if (now_ns >= std::min(end_ns, deadline_ns_)) break;
      drive(now_ns);
      if (now_ns < signal_check_ns) continue;
      signal_check_ns = now_ns + kSignalCheckNs;
      if (const Status status = signals.let_in(); !status.ok()) return status;
    }
    return Status();
  }

  // For a wait that does not spin. It holds no signal back, unless the whole call does.
  Status first_sleep() {
    if (!home_.try_lead()) return Status();
    Status status;
    if (queue_.sleep_as_leader(min_)) {
      leave_far_shards();
      ReadyPorts ready;
      status = home_.sleep_as_leader(limit_, HeldSignals::outermost_mask(), ready);
      queue_.awake_as_leader();
      poll_memory(ready);
      taken();
    }
    home_.stop_leading();
    return status;
  }

  Status lead(const HeldSignals& signals) {
    Status status;
    while (status.ok() && queue_.sleep_as_leader(min_)) {
      arrivals_ = home_.arrivals();
      leave_far_shards();
      ReadyPorts ready;
      status = home_.sleep_as_leader(limit_, &signals.mask(), ready);
      queue_.awake_as_leader();
      poll_memory(ready);
      if (queue_.is_due(min_)) break;
      const std::uint64_t now_ns = now();
      if (deadline_ns_ <= now_ns) break;
      if (status.ok()) status = spin_while_busy(signals, now_ns);
    }
    home_.stop_leading();
    return status;
  }

  Status follow(const sigset_t& signals) {
    if (!home_.start_following()) return Status();
    Status status;
    bool is_announced = true;
    if (sleeps_as_follower(is_announced)) {
      leave_far_shards();
      std::uint64_t left_ns = limit_.is_none() ? kNoDeadline : limit_.left_ns(now());
      if (queue_.follower_fd() < 0 || !is_announced) left_ns = std::min(left_ns, kBlindSleepNs);
      pollfd watched{queue_.follower_fd(), POLLIN, 0};
      const Result<int> woken = home_.sleeper().sleep({&watched, 1}, left_ns, &signals);
      if (!woken) status = woken.error();
      if (is_announced) queue_.awake_as_follower(min_);
    }
    home_.stop_following();
    return status;
  }

  bool sleeps_as_follower(bool& is_announced) {
    try {
      return queue_.sleep_as_follower(min_);
    } catch (const std::bad_alloc&) {
      is_announced = false;
      return true;
    }
  }

  EventQueue& queue_;
  Shard& home_;
  exs_event_t* const out_;
  const std::size_t min_;
  const std::size_t max_;
  const bool sleeps_at_once_;
  WaitLimit limit_;
  std::uint64_t deadline_ns_ = kNoDeadline;  // the limit, once the time is known
  ReadSection* const section_;
  std::size_t& count_;                // events taken
  std::shared_ptr<EventQueue> held_;  // once the section is left
  std::uint64_t looked_ns_ = 0;       // when the first look began
  std::uint64_t spin_end_ns_ = 0;
  std::uint64_t arrivals_ = 0;  // as they were when the leader went to sleep
  bool spins_ = false;
  bool keeps_engine_off_ = true;
  bool expired_ = false;
};

}  // namespace

std::size_t take_at_once(EventQueue& queue, exs_event_t* out, std::size_t max) noexcept {
  if (queue.has_ready_fd() || queue.wait_mode() == EXS_WAIT_NOTIFY) return 0;
  BriefLooks& brief = queue.brief_looks();
  std::size_t count = queue.has_events() ? queue.take(out, 1, max) : 0;
  if (count > 0) {
    const bool looks = brief.take_needs_look();
    if (looks && !(brief.are_due() && look_briefly(queue, 1, out, 0, count)))
      drive_all(queue, queue.home()->clock().now_ns(), true);
  } else if (!brief.are_due() || !look_briefly(queue, kBriefLooks, out, max, count) || count == 0) {
    return 0;
  }
  queue.spin_choice().took(count);
  return count;
}

Status take_events(EventQueue& queue, exs_event_t* out, std::size_t min, std::size_t max, WaitLimit limit,
                   ReadSection* section, std::size_t& taken) {
  taken = 0;
  return Wait(queue, out, min, max, limit, section, taken).run();
}

}  // namespace exs
