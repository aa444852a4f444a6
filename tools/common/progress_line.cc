#include "tools/common/progress_line.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "tools/common/clock.h"

namespace tools {

ProgressLine::ProgressLine(const char* unit, std::uint64_t goal)
    : unit_(unit),
      goal_(goal),
      next_ns_(::isatty(STDERR_FILENO) == 1 ? now_ns() + 2 * kNsPerSecond : UINT64_MAX) {}

ProgressLine::~ProgressLine() {
  if (is_printed_) std::fputs("\r\033[K", stderr);
}

void ProgressLine::update(std::uint64_t done) {
  const std::uint64_t now = now_ns();
  if (now < next_ns_) return;
  next_ns_ = now + kNsPerSecond;
  is_printed_ = true;
  std::fprintf(stderr, "\r%s %" PRIu64 " of %" PRIu64 "\033[K", unit_, done, goal_);
}

}  // namespace tools
