// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/child_process.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include "tools/common/failure.h"

namespace tools {

namespace {

cpu_set_t allowed_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
  return allowed;
}

}  // namespace

bool pin_to_core(unsigned index) {
  // Read before the first pinning: children of a pinned process inherit its mask.
  static const cpu_set_t allowed = allowed_cores();
  if (CPU_COUNT(&allowed) < 2) return false;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (!CPU_ISSET(core, &allowed) || index-- > 0) continue;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    return sched_setaffinity(0, sizeof one, &one) == 0;
  }
  return false;
}

ChildProcess::ChildProcess(const std::function<int()>& body) : pid_(fork()) {
  if (pid_ == -1) fail("cannot start the other end", errno);
  if (pid_ > 0) return;
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  int status = 1;
  try {
    status = body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: server's end: %s\n", program_invocation_short_name, error.what());
  }
  std::fflush(nullptr);
  _exit(status);
}

int ChildProcess::stop() {
  if (pid_ != -1) kill(pid_, SIGTERM);
  wait();
  return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1;
}

int ChildProcess::wait_for_end() {
  wait();
  return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
}

void ChildProcess::wait() {
  if (pid_ == -1) return;
  while (waitpid(pid_, &status_, 0) == -1 && errno == EINTR) continue;
  pid_ = -1;
}

}  // namespace tools
