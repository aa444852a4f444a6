// Results for people, as a table, and for programs, as one JSON object or as comma-separated values.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/support/job.h"
#include "perf/support/options.h"

namespace perf {

class Report {
 public:
  Report(const Benchmark& benchmark, const Options& options);
  // Prints a table's row at once.
  void add(const Measurement& measured);
  // Prints during a measurement. JSON has the intervals in its object.
  void print(const Job& job, const Interval& interval) const;
  void finish();

 private:
  void print_head(const Measurement& measured);
  void print_row(const Measurement& measured) const;

  const Benchmark benchmark_;
  const Options options_;
  bool head_printed_ = false;
  bool is_marked_ = false;  // a row is marked as the default of exs_send
  std::vector<Measurement> measurements_;
};

// The JSON object of a sweep has the array "sweep", and that of several kinds has "kinds".
void print_json(const Benchmark& benchmark, const Options& options,
                const std::vector<Measurement>& measurements);
// Prints a line of names and a line for each measurement. Nested values have a column each, such as "one_way_us_p50".
void print_csv(const Benchmark& benchmark, const Options& options,
               const std::vector<Measurement>& measurements);

// Common to tables and JSON.
inline double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}
inline double bytes_of(const Measurement& measured) {
  return static_cast<double>(measured.messages) * static_cast<double>(measured.job.size_bytes);
}
// A share of a round trip in microseconds, to the nanosecond.
double us_of(double round_trip_ns, double share);
// Half of a round trip.
inline double one_way_us(std::uint64_t round_trip_ns) {
  return us_of(static_cast<double>(round_trip_ns), 0.5);
}

}  // namespace perf
