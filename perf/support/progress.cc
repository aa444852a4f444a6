#include "perf/support/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "tools/common/clock.h"
#include "tools/common/units.h"

namespace perf {

std::uint64_t Tally::sum() const {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < connections_; ++i) sum += counts_[i].messages.load(std::memory_order_relaxed);
  return sum;
}

Progress::Progress(const Limit& limit, Tally& tally, std::uint32_t connection, OnInterval on_interval)
    : limit_(limit), tally_(&tally), own_(&tally.of(connection)), on_interval_(std::move(on_interval)) {
  if (connection != 0) return;
  if (isatty(STDERR_FILENO) == 1) next_line_ns_ = tools::now_ns() + 2 * tools::kNsPerSecond;
  if (limit.interval_ns > 0) next_interval_ns_ = 0;  // the first update shows when the measurement has begun
  next_ns_ = std::min(next_line_ns_, next_interval_ns_);
}

Progress::~Progress() {
  clear_line();
}

void Progress::clear_line() {
  if (printed_) std::fputs("\r\033[K", stderr);
  printed_ = false;
}

void Progress::tell(std::uint64_t start_ns, std::uint64_t at_ns, const tools::Histogram* round_trips) {
  if (next_interval_ns_ == 0) {
    told_ns_ = start_ns;
    next_interval_ns_ = start_ns + limit_.interval_ns;
  }
  if (at_ns >= next_interval_ns_) end_interval(start_ns, at_ns, round_trips);
  if (at_ns >= next_line_ns_) print_line(start_ns, at_ns);
  next_ns_ = std::min(next_line_ns_, next_interval_ns_);
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
  clear_line();
  on_interval_(interval);
}

void Progress::print_line(std::uint64_t start_ns, std::uint64_t at_ns) {
  next_line_ns_ = at_ns + tools::kNsPerSecond;
  printed_ = true;
  const auto messages = static_cast<double>(tally_->sum());
  const double goal_messages = static_cast<double>(limit_.count) * tally_->connections();
  const std::string goal = limit_.count > 0 ? tools::format("%.0f %%", 100 * messages / goal_messages)
                                            : tools::format("of %.0f s", tools::seconds_of(limit_.time_ns));
  std::fprintf(stderr, "\r%.0f s (%s), %s messages\033[K", tools::seconds_of(at_ns - start_ns), goal.c_str(),
               tools::format_count(messages).c_str());
}

}  // namespace perf
