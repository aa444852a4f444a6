// The times that a baseline reports for its samples, in microseconds.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/common/histogram.h"
#include "tools/common/json.h"

namespace perf {

struct Times {
  double min = 0;
  double p50 = 0;
  double p99 = 0;
  double max = 0;
  double mean = 0;
};

// `us_of` converts the nanoseconds of a sample, as a double.
template <typename Convert>
Times times_of(const tools::Histogram& samples, const Convert& us_of) {
  const auto us = [&us_of](std::uint64_t ns) { return us_of(static_cast<double>(ns)); };
  return {us(samples.min_ns()), us(samples.percentile_ns(0.5)), us(samples.percentile_ns(0.99)),
          us(samples.max_ns()), us_of(samples.mean_ns())};
}

inline tools::Json::Object json_of(const Times& times) {
  return {
      {"min", times.min}, {"p50", times.p50}, {"p99", times.p99}, {"max", times.max}, {"mean", times.mean}};
}

}  // namespace perf
