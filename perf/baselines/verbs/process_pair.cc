// SPDX-License-Identifier: BSD-2-Clause
#include "perf/baselines/verbs/process_pair.h"

#include <csignal>

#include "tools/common/failure.h"

namespace verbs_baseline {

namespace {

// Without SA_RESTART, the signal interrupts any call that sleeps.
void note_ends_of_children(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(SIGCHLD, &action, nullptr);
}

}  // namespace

void Line::hear(void* value, std::size_t length) const {
  const ssize_t got = recv(descriptor_, value, length, 0);
  if (got != static_cast<ssize_t>(length)) throw tools::Exit{1};
}

ProcessPair::ProcessPair(const Settings& settings, const std::function<void(const Line&)>& body) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) tools::fail("socketpair", errno);
  child_ = std::make_unique<tools::ChildProcess>([&] {
    close(ends[0]);
    // Stays open until the process ends, after the process has printed its error. So the other end, which ends this one, sees the end
    // later.
    static const Line line(ends[1]);
    if (settings.pin) tools::pin_to_core(1);
    body(line);
    return 0;
  });
  close(ends[1]);
  line_ = std::make_unique<Line>(ends[0]);
  note_ends_of_children([](int) {});
  pinned_ = settings.pin && tools::pin_to_core(0);
}

ProcessPair::~ProcessPair() {
  note_ends_of_children(SIG_DFL);
  line_.reset();
}

}  // namespace verbs_baseline
