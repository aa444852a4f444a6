// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/check.h"

namespace tools {

unsigned Histogram::bucket_of(std::uint64_t value_ns) {
  const unsigned width = static_cast<unsigned>(std::bit_width(value_ns));
  if (width <= kSubBits) return static_cast<unsigned>(value_ns);
  const unsigned shift = width - kSubBits;
  return shift * kHalf + static_cast<unsigned>(value_ns >> shift);
}

std::uint64_t Histogram::lowest_of(unsigned bucket) {
  if (bucket < 2 * kHalf) return bucket;
  const unsigned shift = bucket / kHalf - 1;
  return std::uint64_t{bucket - shift * kHalf} << shift;
}

std::uint64_t Histogram::middle_of(unsigned bucket) {
  const unsigned shift = bucket < 2 * kHalf ? 0 : bucket / kHalf - 1;
  return lowest_of(bucket) + ((std::uint64_t{1} << shift) >> 1U);
}

void Histogram::record(std::uint64_t value_ns) {
  EXS_DEBUG_CHECK(bucket_of(value_ns) < kBuckets);
  ++buckets_[bucket_of(value_ns)];
  ++count_;
  sum_ns_ += value_ns;
  min_ns_ = std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
}

void Histogram::add(const Histogram& other) {
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) buckets_[bucket] += other.buckets_[bucket];
  count_ += other.count_;
  sum_ns_ += other.sum_ns_;
  min_ns_ = std::min(min_ns_, other.min_ns_);
  max_ns_ = std::max(max_ns_, other.max_ns_);
}

Histogram Histogram::since(const Histogram& earlier) const {
  EXS_CHECK(earlier.count_ <= count_);
  Histogram out;
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    EXS_DEBUG_CHECK(earlier.buckets_[bucket] <= buckets_[bucket]);
    out.buckets_[bucket] = buckets_[bucket] - earlier.buckets_[bucket];
    if (out.buckets_[bucket] == 0) continue;
    out.min_ns_ = std::min(out.min_ns_, std::max(lowest_of(bucket), min_ns_));
    out.max_ns_ = std::min(middle_of(bucket), max_ns_);
  }
  out.count_ = count_ - earlier.count_;
  out.sum_ns_ = sum_ns_ - earlier.sum_ns_;
  return out;
}

std::vector<Histogram::Bar> Histogram::bars() const {
  constexpr unsigned kBucketsInBar = kHalf / 4;
  std::vector<Bar> bars;
  if (count_ == 0) return bars;
  for (unsigned first = bucket_of(min_ns_) / kBucketsInBar * kBucketsInBar; first <= bucket_of(max_ns_);
       first += kBucketsInBar) {
    const unsigned end = first + kBucketsInBar;
    std::uint64_t count = 0;
    for (unsigned bucket = first; bucket < end; ++bucket) count += buckets_[bucket];
    bars.push_back({lowest_of(first), end < kBuckets ? lowest_of(end) : UINT64_MAX, count});
  }
  return bars;
}

double Histogram::mean_ns() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_ns_) / static_cast<double>(count_);
}

std::uint64_t Histogram::percentile_ns(double share) const {
  if (count_ == 0) return 0;
  const auto rank =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))));
  std::uint64_t seen = 0;
  for (unsigned bucket = 0; bucket < kBuckets; ++bucket) {
    seen += buckets_[bucket];
    if (seen >= rank) return std::clamp(middle_of(bucket), min_ns_, max_ns_);
  }
  return max_ns_;
}

}  // namespace tools
