// The client's end of a ping: one round after the other, each of them timed.
#pragma once

#include <cstdint>
#include <string>

#include "perf/support/method.h"
#include "tools/common/interrupt.h"

namespace ping {

struct Interval {
  std::uint64_t start_ns;
  std::uint64_t end_ns;
};

class Rounds {
 public:
  Rounds(const perf::Job& job, const perf::Limit& limit, perf::Progress& progress)
      : job_(job), limit_(limit), progress_(progress) {}

  // round(n) does round n and tells its Interval. The first ones warm up and do not count.
  template <typename Round>
  perf::Driven run(const Round& round) {
    driven_.round_trips.emplace();
    for (std::uint64_t n = 0; wants(n); ++n) {
      if (n == job_.warmup_messages) driven_.watch.start();
      const Interval interval = round(n);
      now_ns_ = interval.end_ns;
      if (n < job_.warmup_messages) continue;
      driven_.round_trips->record(interval.end_ns - interval.start_ns);
      ++driven_.messages;
      progress_.update(driven_.watch.start_ns(), now_ns_, driven_.messages);
    }
    if (driven_.watch.start_ns() == 0) driven_.watch.start();
    driven_.watch.stop();
    return driven_;
  }
  // What verification found; only the first one is kept.
  void report(const std::string& fault) {
    if (driven_.fault.empty()) driven_.fault = fault;
  }

 private:
  [[nodiscard]] bool wants(std::uint64_t n) const {
    if (tools::interrupted()) return false;
    if (limit_.count > 0) return n < limit_.count + job_.warmup_messages;
    return n <= job_.warmup_messages || now_ns_ - driven_.watch.start_ns() < limit_.time_ns;
  }

  const perf::Job& job_;
  const perf::Limit& limit_;
  perf::Progress& progress_;
  perf::Driven driven_;
  std::uint64_t now_ns_ = 0;
};

// Waits for the next receive's event. Other events on the queue are of control
// messages. Asks no clock: in shared memory that would be a tenth of what is measured.
void next_receive(perf::Channel& channel, std::int64_t patience_ns, std::uint64_t messages,
                  exs_event_t& event);

}  // namespace ping
