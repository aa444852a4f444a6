// Time and processor time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace tools {

using exs::kNsPerSecond;

inline double seconds_of(std::uint64_t ns) {
  return static_cast<double>(ns) / static_cast<double>(kNsPerSecond);
}
std::uint64_t ns_of(double seconds);

// The limit of a call that is repeated when a signal interrupts it. It asks the clock only then, so such a wait may take twice its time.
class Patience {
 public:
  // Negative: no limit.
  explicit Patience(std::int64_t timeout_ns) : left_ns_(timeout_ns) {}
  [[nodiscard]] std::int64_t left_ns() const { return left_ns_; }
  void note_signal();

 private:
  std::int64_t left_ns_;
  std::uint64_t end_ns_ = 0;
};

// The time that all threads of this process have used, in user and system mode (getrusage).
std::uint64_t process_cpu_ns();

// Wall time and processor time since start().
class Stopwatch {
 public:
  void start();
  void stop();
  [[nodiscard]] std::uint64_t wall_ns() const { return wall_ns_; }
  [[nodiscard]] std::uint64_t cpu_ns() const { return cpu_ns_; }
  [[nodiscard]] std::uint64_t start_ns() const { return wall_start_ns_; }

 private:
  std::uint64_t wall_start_ns_ = 0;
  std::uint64_t cpu_start_ns_ = 0;
  std::uint64_t wall_ns_ = 0;
  std::uint64_t cpu_ns_ = 0;
};

// 100 means one core all the time.
double cpu_percent(std::uint64_t cpu_ns, std::uint64_t wall_ns);

}  // namespace tools
