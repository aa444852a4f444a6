// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/clock.h"

#include <sys/resource.h>

#include <cmath>

namespace tools {
namespace {

std::uint64_t in_ns(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(time.tv_usec) * 1000;
}

}  // namespace

std::uint64_t ns_of(double seconds) {
  return static_cast<std::uint64_t>(std::llround(seconds * static_cast<double>(kNsPerSecond)));
}

void Patience::note_signal() {
  if (left_ns_ <= 0) return;
  const std::uint64_t at_ns = exs::monotonic_ns();
  if (end_ns_ == 0) end_ns_ = at_ns + static_cast<std::uint64_t>(left_ns_);
  left_ns_ = at_ns >= end_ns_ ? 0 : static_cast<std::int64_t>(end_ns_ - at_ns);
}

std::uint64_t process_cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return in_ns(usage.ru_utime) + in_ns(usage.ru_stime);
}

void Stopwatch::start() {
  cpu_start_ns_ = process_cpu_ns();
  wall_start_ns_ = exs::monotonic_ns();
}

void Stopwatch::stop() {
  wall_ns_ = exs::monotonic_ns() - wall_start_ns_;
  cpu_ns_ = process_cpu_ns() - cpu_start_ns_;
}

double cpu_percent(std::uint64_t cpu_ns, std::uint64_t wall_ns) {
  return wall_ns == 0 ? 0 : 100 * static_cast<double>(cpu_ns) / static_cast<double>(wall_ns);
}

}  // namespace tools
