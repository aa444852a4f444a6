// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/signals.h"

#include <sys/signalfd.h>

#include <cerrno>

#include "tools/common/failure.h"

namespace run {

Signals::Signals() {
  // If our parent ignored SIGCHLD, waitpid() would lose the exit status.
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : {SIGCHLD, SIGINT, SIGTERM}) sigaddset(&taken, signal);
  sigset_t held = taken;
  sigaddset(&held, SIGPIPE);
  sigprocmask(SIG_BLOCK, &held, &before_);
  descriptor_ = exs::UniqueFd(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_.valid()) tools::fail("signalfd", errno);
}

std::optional<Signals::Arrival> Signals::take() {
  signalfd_siginfo told{};
  if (::read(descriptor_.get(), &told, sizeof told) != sizeof told) return std::nullopt;
  return Arrival{static_cast<int>(told.ssi_signo), told.ssi_code == SI_KERNEL};
}

void Signals::restore() const {
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace run
