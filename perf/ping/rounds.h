// The client's end of a ping: one timed round after the other.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "perf/support/method.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"

namespace ping {

struct RoundTrip {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

// The due time of each message of an open loop, which does not depend on earlier messages. A closed loop sends the next message when the
// last one has come back, so a pause delays the messages that would show it (coordinated omission).
class Schedule {
 public:
  // A rate of 0: each message is due at once.
  explicit Schedule(double rate) : period_ns_(rate > 0 ? 1e9 / rate : 0) {}
  [[nodiscard]] bool is_open_loop() const { return period_ns_ > 0; }
  [[nodiscard]] std::uint64_t due_ns(std::uint64_t start_ns, std::uint64_t n) const {
    return start_ns + static_cast<std::uint64_t>(period_ns_ * static_cast<double>(n));
  }
  // Ends early on a signal.
  static void wait_until(std::uint64_t due_ns);

 private:
  const double period_ns_;
};

class Rounds {
 public:
  Rounds(const perf::Job& job, const perf::Limit& limit, perf::Progress& progress)
      : job_(job), limit_(limit), progress_(progress), schedule_(limit.rate) {}

  // round(n) executes round n and returns its times. The warm-up rounds come first and do not count. If a later round throws, the figures
  // so far remain.
  template <typename Round>
  perf::Driven run(const Round& round) {
    driven_.round_trips.emplace();
    if (schedule_.is_open_loop()) driven_.due_round_trips.emplace();
    try {
      for (std::uint64_t n = 0; wants(n); ++n) {
        if (n == job_.warmup_messages) driven_.watch.start();
        const std::uint64_t due_ns = wait_for_turn(n);
        if (tools::interrupted()) break;
        count(n, round(n), due_ns);
      }
    } catch (const tools::Failure& failure) {
      if (driven_.messages == 0) throw;
      driven_.broken = failure.what();
    }
    if (driven_.watch.start_ns() == 0) driven_.watch.start();
    driven_.watch.stop();
    return driven_;
  }
  // Keeps the first fault of verification only.
  void report(const std::string& fault) {
    if (driven_.fault.empty()) driven_.fault = fault;
  }

 private:
  // Returns when message n was due; 0: not in an open loop.
  std::uint64_t wait_for_turn(std::uint64_t n) const {
    if (!schedule_.is_open_loop() || n < job_.warmup_messages) return 0;
    const std::uint64_t due_ns = schedule_.due_ns(driven_.watch.start_ns(), n - job_.warmup_messages);
    Schedule::wait_until(due_ns);
    return due_ns;
  }

  void count(std::uint64_t n, const RoundTrip& trip, std::uint64_t due_ns) {
    now_ns_ = trip.end_ns;
    if (n < job_.warmup_messages) return;
    driven_.round_trips->record(trip.end_ns - trip.start_ns);
    if (due_ns != 0) driven_.due_round_trips->record(trip.end_ns - due_ns);
    ++driven_.messages;
    progress_.update(driven_.watch.start_ns(), now_ns_, driven_.messages, &*driven_.round_trips);
  }

  [[nodiscard]] bool wants(std::uint64_t n) const {
    if (tools::interrupted()) return false;
    if (limit_.count > 0) return n < limit_.count + job_.warmup_messages;
    return n <= job_.warmup_messages || now_ns_ - driven_.watch.start_ns() < limit_.time_ns;
  }

  const perf::Job& job_;
  const perf::Limit& limit_;
  perf::Progress& progress_;
  const Schedule schedule_;
  perf::Driven driven_;
  std::uint64_t now_ns_ = 0;
};

// Waits for the next receive's event. Other events on the queue belong to control messages. It does not read the clock: over shared
// memory that would be a tenth of the measured time.
void next_receive(perf::Channel& channel, std::int64_t patience_ns, std::uint64_t messages,
                  exs_event_t& event);

}  // namespace ping
