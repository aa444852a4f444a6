// Results for people, as a table, and for programs, as one JSON object or as comma-separated values.
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
  // A table's row is printed at once.
  void add(const Measurement& measured);
  // While a measurement goes on. JSON has its intervals in its object.
  void print(const Job& job, const Interval& interval) const;
  void finish();

 private:
  void print_head(const Measurement& measured);
  void print_row(const Measurement& measured) const;

  const Benchmark benchmark_;
  const Options options_;
  bool head_printed_ = false;
  bool is_marked_ = false;  // a row is what exs_send would do
  std::vector<Measurement> measurements_;
};

// A sweep's JSON object holds the others in the array "sweep", one of several kinds in "kinds".
void print_json(const Benchmark& benchmark, const Options& options,
                const std::vector<Measurement>& measurements);
// A line of names and a line for each. What has parts has a column for each of them, "one_way_us_p50" say.
void print_csv(const Benchmark& benchmark, const Options& options,
               const std::vector<Measurement>& measurements);

// What tables and JSON have in common.
inline double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}
inline double bytes_of(const Measurement& measured) {
  return static_cast<double>(measured.messages) * static_cast<double>(measured.job.size_bytes);
}
// A share of a round trip in microseconds, to the nanosecond.
double us_of(double round_trip_ns, double share);
// Half of one.
inline double one_way_us(std::uint64_t round_trip_ns) {
  return us_of(static_cast<double>(round_trip_ns), 0.5);
}

}  // namespace perf
