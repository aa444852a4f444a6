// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/watch.h"

#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <ctime>

namespace tools {

int watch(const std::function<void()>& show) {
  constexpr std::timespec kPause{1, 0};
  constexpr const char* kClear = "\033[H\033[2J";
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGINT);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  const bool is_terminal = ::isatty(STDOUT_FILENO) != 0;
  int signal = 0;
  while (signal <= 0) {
    if (is_terminal) std::fputs(kClear, stdout);
    show();
    if (!is_terminal) std::fputs("\n", stdout);
    std::fflush(stdout);
    signal = sigtimedwait(&ends, nullptr, &kPause);
  }
  return 0;
}

}  // namespace tools
