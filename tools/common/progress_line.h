// The progress of what takes longer than two seconds: one line on a terminal, nothing elsewhere.
#pragma once

#include <cstdint>

namespace tools {

class ProgressLine {
 public:
  // `unit` is the name of one part, such as "round".
  ProgressLine(const char* unit, std::uint64_t goal);
  ~ProgressLine();  // removes the line
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Prints once a second.
  void update(std::uint64_t done);

 private:
  const char* unit_;
  std::uint64_t goal_;
  std::uint64_t next_ns_;
  bool is_printed_ = false;
};

}  // namespace tools
