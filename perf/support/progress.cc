// SPDX-License-Identifier: BSD-2-Clause
#include "perf/support/progress.h"

#include <algorithm>
#include <utility>

#include "tools/common/clock.h"

namespace perf {

std::uint64_t Tally::sum() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < connections_; ++i) sum += counts_[i].messages.load(std::memory_order_relaxed);
  return sum;
}

Progress::Progress(const Limit& limit, Tally& tally, std::uint32_t connection, OnInterval on_interval)
    : limit_(limit), tally_(&tally), own_(&tally.of(connection)), on_interval_(std::move(on_interval)) {
  if (connection != 0) return;
  line_.emplace();
  if (limit.interval_ns > 0) next_interval_ns_ = 0;  // the first update shows when the measurement has begun
  next_ns_ = std::min(line_->due_ns(), next_interval_ns_);
}

void Progress::tell(std::uint64_t start_ns, std::uint64_t at_ns, const tools::Histogram* round_trips) {
  if (next_interval_ns_ == 0) {
    told_ns_ = start_ns;
    next_interval_ns_ = start_ns + limit_.interval_ns;
  }
  if (at_ns >= next_interval_ns_) end_interval(start_ns, at_ns, round_trips);
  if (at_ns >= line_->due_ns()) print_line(start_ns, at_ns);
  next_ns_ = std::min(line_->due_ns(), next_interval_ns_);
}

// The interval is longer than requested if a message took long. The next one still ends on schedule.
void Progress::end_interval(std::uint64_t start_ns, std::uint64_t at_ns,
                            const tools::Histogram* round_trips) {
  const std::uint64_t messages = tally_->sum();
  Interval interval{tools::seconds_of(told_ns_ - start_ns), tools::seconds_of(at_ns - start_ns),
                    messages - told_messages_, std::nullopt};
  if (round_trips != nullptr && tally_->connections() == 1) {
    interval.round_trips = told_round_trips_ ? round_trips->since(*told_round_trips_) : *round_trips;
    told_round_trips_ = *round_trips;
  }
  told_ns_ = at_ns;
  told_messages_ = messages;
  next_interval_ns_ += ((at_ns - next_interval_ns_) / limit_.interval_ns + 1) * limit_.interval_ns;
  line_->clear();
  on_interval_(interval);
}

void Progress::print_line(std::uint64_t start_ns, std::uint64_t at_ns) {
  const tools::Goal goal{limit_.count * tally_->connections(), limit_.time_ns};
  line_->print(
      at_ns, tools::words_of_progress(tools::seconds_of(at_ns - start_ns), goal, tally_->sum(), "messages"));
}

}  // namespace perf
