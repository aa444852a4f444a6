// Before the first input: no log lines, and no signal for a pipe that nobody reads.
// SPDX-License-Identifier: BSD-2-Clause
#include <signal.h>

#include <cstdlib>

namespace {

[[maybe_unused]] const bool g_is_set_up = [] {
  ::setenv("EXS_LOG", "off", 1);
  return ::signal(SIGPIPE, SIG_IGN) != SIG_ERR;
}();

}  // namespace
