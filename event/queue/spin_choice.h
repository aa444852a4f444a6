// Chooses whether waits poll before they sleep. On busy processors, two ends that poll on the same processor
// delay each other: an awaited event comes only after the poller sleeps. A process cannot see this directly,
// but more events come while its waits sleep at once. Otherwise waits poll, because an event is found sooner
// by polling than by a wake-up. Thread: any.
//
// Design notes
//  1. Polling in vain proves too little. Both ends of a connection may see it, each late because the other one sleeps. Lengths
//     of waits prove nothing either: a long wait is followed by many events that need no wait.
//  2. Long waits do not count, because a wake-up more or less makes no difference to them.
//  3. Racing changes may be lost, and with them a little of the measurement.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace exs {

class SpinChoice {
 public:
  // Waits in a row that have polled in vain, before some sleep at once, for a trial; after each trial that fails, twice as many.
  static constexpr std::uint32_t kVainLeast = 32;
  static constexpr std::uint32_t kVainMost = 512;
  // Waits that sleep at once, before some poll again; twice as many each time that those were slower.
  static constexpr std::uint32_t kSleepsLeast = 8;
  static constexpr std::uint32_t kSleepsMost = 512;
  static constexpr std::uint32_t kPolls = 8;
  // This many successful polls among the trial waits let all waits poll again.
  static constexpr std::uint32_t kFoundEnough = 2;
  static constexpr std::uint64_t kLongNs = 1'000'000;

  [[nodiscard]] bool is_to_spin() const noexcept { return get(phase_) != Phase::kSleep; }

  // A wait has ended with an event. `has_slept`: in the end.
  void ended(bool has_spun, bool has_slept, std::uint64_t began_ns, std::uint64_t now_ns) noexcept {
    const Phase phase = get(phase_);
    if (has_spun == (phase == Phase::kSleep)) return;  // it began in another phase
    const bool is_long = now_ns - began_ns > kLongNs;
    if (phase == Phase::kPollAlways) return polled(has_slept, is_long, now_ns);
    if (!has_slept) set(found_, get(found_) + 1);
    if (get(found_) == kFoundEnough) return poll_always();
    if (is_long) set(left_out_ns_, get(left_out_ns_) + (now_ns - std::max(began_ns, get(began_ns_))));
    set(left_, std::max(get(left_), 1U) - 1);
    if (get(left_) != 0) return;
    const std::uint64_t all_ns = now_ns - get(began_ns_);
    const std::uint64_t time_ns = all_ns - std::min(all_ns, get(left_out_ns_));
    if (phase == Phase::kPollForTrial) return compare(time_ns, now_ns);
    set(sleeping_ns_, time_ns);
    set(sleeping_events_, get(events_));
    begin(Phase::kPollForTrial, kPolls, now_ns);
  }
  // Events have been taken, with a wait or without.
  void took(std::size_t events) noexcept {
    if (get(phase_) != Phase::kPollAlways) set(events_, get(events_) + events);
  }

 private:
  enum class Phase : std::uint32_t { kPollAlways, kSleep, kPollForTrial };

  template <typename Value>
  static Value get(const std::atomic<Value>& of) noexcept {
    return of.load(std::memory_order_relaxed);
  }
  template <typename Value>
  static void set(std::atomic<Value>& of, Value to) noexcept {
    of.store(to, std::memory_order_relaxed);
  }

  void polled(bool in_vain, bool is_long, std::uint64_t now_ns) noexcept {
    if (!in_vain) {
      if (get(vain_) != 0) set(vain_, 0U);
    } else if (!is_long) {
      set(vain_, get(vain_) + 1);
      if (get(vain_) < get(vain_limit_)) return;
      set(stretch_, kSleepsLeast);
      begin(Phase::kSleep, kSleepsLeast, now_ns);
    }
  }
  void begin(Phase phase, std::uint32_t waits, std::uint64_t now_ns) noexcept {
    set(began_ns_, now_ns);
    set(left_out_ns_, std::uint64_t{0});
    set(events_, std::uint64_t{0});
    set(found_, 0U);
    set(left_, waits);
    set(phase_, phase);
  }
  // Sleeping is faster only where it is so by far: by half as many events again in the same time.
  void compare(std::uint64_t polling_ns, std::uint64_t now_ns) noexcept {
    if (2 * polling_ns * get(sleeping_events_) > 3 * get(sleeping_ns_) * get(events_)) {
      set(stretch_, std::min(2 * get(stretch_), kSleepsMost));
      return begin(Phase::kSleep, get(stretch_), now_ns);
    }
    poll_always();
  }
  void poll_always() noexcept {
    // The faster phase may have been so by chance.
    const bool was_faster = get(stretch_) >= 8 * kSleepsLeast;
    set(vain_limit_, was_faster ? kVainLeast : std::min(2 * get(vain_limit_), kVainMost));
    set(vain_, 0U);
    set(phase_, Phase::kPollAlways);
  }

  std::atomic<Phase> phase_{Phase::kPollAlways};
  std::atomic<std::uint32_t> vain_{0};
  std::atomic<std::uint32_t> vain_limit_{kVainLeast};
  std::atomic<std::uint32_t> stretch_{kSleepsLeast};
  // The current phase.
  std::atomic<std::uint32_t> left_{0};
  std::atomic<std::uint64_t> began_ns_{0};
  std::atomic<std::uint64_t> left_out_ns_{0};
  std::atomic<std::uint64_t> events_{0};
  std::atomic<std::uint32_t> found_{0};
  // The last phase in which waits slept at once.
  std::atomic<std::uint64_t> sleeping_ns_{0};
  std::atomic<std::uint64_t> sleeping_events_{0};
};

}  // namespace exs
