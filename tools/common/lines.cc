// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/lines.h"

#include <fcntl.h>
#include <unistd.h>

#include <exception>

#include "base/kernel.h"
#include "tools/common/clock.h"

namespace tools {

void tell(int descriptor, std::string line) noexcept try {
  line += '\n';
  exs::kernel::write_at_once(descriptor, line.data(), line.size());
} catch (const std::exception&) {  // no memory for the line
}

void tell_limited(exs::LogLimit& limit, std::string_view cause, const std::string& line) noexcept try {
  exs::LogLimit::LeftOut before;
  if (!limit.admit(cause, exs::monotonic_ns(), before)) return;
  if (before.lines > 0)
    tell(STDERR_FILENO, std::to_string(before.lines) + " more lines were left out: " + std::string(cause));
  tell(STDERR_FILENO, line);
} catch (const std::exception&) {  // as above
}

// The lowest numbers are free, and the kernel assigns those first.
void hold_standard_streams() noexcept {
  int number = 0;
  while (number >= 0 && number <= STDERR_FILENO) number = ::open("/dev/null", O_RDWR);
  if (number > STDERR_FILENO) ::close(number);
}

}  // namespace tools
