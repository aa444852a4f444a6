// Nanoseconds of one call of `round`: the median over batches.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

namespace exs::test {

inline double median_time_ns(int batches, int rounds, const std::function<void()>& round) {
  std::vector<double> ns;
  for (int batch = 0; batch < batches; ++batch) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds; ++i) round();
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    ns.push_back(took.count() / rounds);
  }
  std::nth_element(ns.begin(), ns.begin() + batches / 2, ns.end());
  return ns[static_cast<std::size_t>(batches) / 2];
}

}  // namespace exs::test
