// Results for people, as a table, and for programs, as one JSON object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "perf/support/job.h"
#include "perf/support/options.h"

namespace perf {

class Report {
 public:
  // A sweep's JSON object holds the others in the array "sweep".
  Report(const Benchmark& benchmark, bool json, bool sweep);
  // A table's row is printed at once.
  void add(const Measurement& measured);
  void finish();

 private:
  void print_head(const Measurement& measured);
  void print_row(const Measurement& measured) const;

  const Benchmark benchmark_;
  const bool json_;
  const bool sweep_;
  bool head_printed_ = false;
  std::vector<Measurement> measurements_;
};

}  // namespace perf
