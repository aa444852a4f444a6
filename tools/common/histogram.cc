#include "tools/common/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tools {

unsigned Histogram::bucket_of(std::uint64_t value_ns) {
  const unsigned width = static_cast<unsigned>(std::bit_width(value_ns));
  if (width <= kSubBits) return static_cast<unsigned>(value_ns);
  const unsigned shift = width - kSubBits;
  return shift * kHalf + static_cast<unsigned>(value_ns >> shift);
}

std::uint64_t Histogram::middle_of(unsigned bucket) {
  if (bucket < 2 * kHalf) return bucket;
  const unsigned shift = bucket / kHalf - 1;
  const std::uint64_t lowest = std::uint64_t{bucket - shift * kHalf} << shift;
  return lowest + ((std::uint64_t{1} << shift) >> 1U);
}

void Histogram::record(std::uint64_t value_ns) {
  ++buckets_[bucket_of(value_ns)];
  ++count_;
  sum_ns_ += value_ns;
  min_ns_ = std::min(min_ns_, value_ns);
  max_ns_ = std::max(max_ns_, value_ns);
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
