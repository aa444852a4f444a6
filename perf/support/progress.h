// One line on a terminal that says how far a long measurement is.
#pragma once

#include <cstdint>

#include "perf/support/job.h"

namespace perf {

class Progress {
 public:
  explicit Progress(const Limit& limit);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap; prints from the third second on, and then once a second.
  void update(std::uint64_t start_ns, std::uint64_t at_ns, std::uint64_t messages) {
    if (at_ns >= next_ns_ && on_terminal_) print(start_ns, at_ns, messages);
  }

 private:
  void print(std::uint64_t start_ns, std::uint64_t at_ns, std::uint64_t messages);

  const Limit limit_;
  const bool on_terminal_;
  bool printed_ = false;
  std::uint64_t next_ns_ = 0;
};

}  // namespace perf
