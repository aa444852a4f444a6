#include "perf/support/progress.h"

#include <unistd.h>

#include <cstdio>

#include "tools/common/clock.h"
#include "tools/common/units.h"

namespace perf {

Progress::Progress(const Limit& limit)
    : limit_(limit),
      on_terminal_(isatty(STDERR_FILENO) == 1),
      next_ns_(tools::now_ns() + 2 * tools::kNsPerSecond) {}

Progress::~Progress() {
  if (printed_) std::fputs("\r\033[K", stderr);
}

void Progress::print(std::uint64_t start_ns, std::uint64_t at_ns, std::uint64_t messages) {
  next_ns_ = at_ns + tools::kNsPerSecond;
  printed_ = true;
  const double seconds = static_cast<double>(at_ns - start_ns) / static_cast<double>(tools::kNsPerSecond);
  const std::string goal =
      limit_.count > 0
          ? tools::format("%.0f %%", 100 * static_cast<double>(messages) / static_cast<double>(limit_.count))
          : tools::format("of %.0f s",
                          static_cast<double>(limit_.time_ns) / static_cast<double>(tools::kNsPerSecond));
  std::fprintf(stderr, "\r%.0f s (%s), %s messages\033[K", seconds, goal.c_str(),
               tools::format_count(static_cast<double>(messages)).c_str());
}

}  // namespace perf
