// The progress of what takes longer than two seconds: one line on a terminal, nothing elsewhere.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "tools/common/clock.h"

namespace tools {

// The end of a measurement.
struct Goal {
  std::uint64_t parts = 0;    // 0: the time decides
  std::uint64_t time_ns = 0;  // 0, too: neither is known
};

// "3 s of 10 s, 1.20 M messages", or "3 s, 12 of 50 rounds". `unit` is the plural of a part's name.
std::string words_of_progress(double seconds, const Goal& goal, std::uint64_t done, const char* unit);

class ProgressLine {
 public:
  // The line appears two seconds later, and changes once a second.
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // When the next line is due. UINT64_MAX: never, because the standard error is no terminal.
  [[nodiscard]] std::uint64_t due_ns() const { return due_ns_; }
  void print(std::uint64_t at_ns, const std::string& words);
  // Removes the line, before other output.
  void clear();

  // Begins a measurement that is one of several. `subject` names it, such as "8 B"; empty: it is the only one.
  void begin(const std::string& subject, const char* unit, const Goal& goal);
  // Cheap. The first reads the clock on a terminal alone.
  void update(std::uint64_t done) {
    if (due_ns_ != UINT64_MAX) update(done, exs::monotonic_ns());
  }
  void update(std::uint64_t done, std::uint64_t at_ns) {
    if (at_ns >= due_ns_) print_parts(done, at_ns);
  }

 private:
  void print_parts(std::uint64_t done, std::uint64_t at_ns);

  std::uint64_t due_ns_;
  bool is_printed_ = false;
  std::string subject_;
  const char* unit_ = "";
  Goal goal_;
  std::uint64_t begun_ns_ = 0;
};

}  // namespace tools
