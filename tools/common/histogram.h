// Counts durations in buckets that are at most 0.4 % wide, so any number of samples fits in 115 KB of the heap.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace tools {

class Histogram {
 public:
  void record(std::uint64_t value_ns);
  void add(const Histogram& other);
  // Returns the samples recorded since this histogram was `earlier`. Its extremes are those of its buckets.
  [[nodiscard]] Histogram since(const Histogram& earlier) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }
  // The exact minimum.
  [[nodiscard]] std::uint64_t min_ns() const { return count_ == 0 ? 0 : min_ns_; }
  [[nodiscard]] std::uint64_t max_ns() const { return max_ns_; }
  [[nodiscard]] double mean_ns() const;
  // The middle of the bucket that holds the sample of this rank; share is 0 to 1.
  [[nodiscard]] std::uint64_t percentile_ns(double share) const;

  // For drawing: four to each power of two, from the one with the first sample to the one with the last.
  struct Bar {
    std::uint64_t from_ns;
    std::uint64_t to_ns;  // not included
    std::uint64_t count;
  };
  [[nodiscard]] std::vector<Bar> bars() const;

 private:
  // Values below 2^kSubBits have a bucket each; every power of two above is cut into 2^(kSubBits-1) buckets.
  static constexpr unsigned kSubBits = 9;
  static constexpr unsigned kHalf = 1U << (kSubBits - 1);
  static constexpr unsigned kBuckets = (64 - kSubBits + 2) * kHalf;

  static unsigned bucket_of(std::uint64_t value_ns);
  static std::uint64_t lowest_of(unsigned bucket);
  static std::uint64_t middle_of(unsigned bucket);

  // Not on the stack, which may be small.
  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(kBuckets);
  std::uint64_t count_ = 0;
  std::uint64_t sum_ns_ = 0;
  std::uint64_t min_ns_ = UINT64_MAX;
  std::uint64_t max_ns_ = 0;
};

}  // namespace tools
