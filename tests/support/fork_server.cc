// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/fork_server.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <map>

namespace exs::test {
namespace {

using Body = std::function<int(std::uint32_t, const ForkServer::TellPort&)>;

void write_report(int reports, const ForkServer::Report& report) {
  if (::write(reports, &report, sizeof report) != sizeof report) ::_exit(4);
}

// Runs one child.
[[noreturn]] void grow_up(std::uint32_t birth, int reports, const Body& body, const sigset_t& signals) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  const int status = body(birth, [&](std::uint16_t port) {
    write_report(reports, {.pid = ::getpid(), .birth = birth, .port = port, .status = 0});
  });
  ::_exit(status);
}

void reap(int reports, std::map<pid_t, std::uint32_t>& births) {
  int status = 0;
  for (pid_t pid = ::waitpid(-1, &status, WNOHANG); pid > 0; pid = ::waitpid(-1, &status, WNOHANG)) {
    write_report(reports, {.pid = pid, .birth = births[pid], .port = 0, .status = status});
    births.erase(pid);
  }
}

[[noreturn]] void keep(int orders, int reports, const Body& body) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::map<pid_t, std::uint32_t> births;
  sigset_t child;
  sigset_t before;
  ::sigemptyset(&child);
  ::sigaddset(&child, SIGCHLD);
  ::sigprocmask(SIG_BLOCK, &child, &before);
  pollfd watched[2] = {{orders, POLLIN, 0}, {::signalfd(-1, &child, 0), POLLIN, 0}};
  for (;;) {
    ::poll(watched, 2, -1);
    if (watched[1].revents != 0) {
      signalfd_siginfo info{};
      if (::read(watched[1].fd, &info, sizeof info) < 0) ::_exit(4);
      reap(reports, births);
    }
    if (watched[0].revents == 0) continue;
    std::uint32_t birth = 0;
    if (::read(orders, &birth, sizeof birth) != sizeof birth) ::_exit(0);  // the parent has ended
    const pid_t pid = ::fork();
    if (pid == 0) grow_up(birth, reports, body, before);
    births[pid] = birth;
  }
}

}  // namespace

ForkServer::ForkServer(const Body& body) {
  int orders[2];
  int reports[2];
  if (::pipe(orders) != 0 || ::pipe(reports) != 0) std::abort();
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(orders[1]);
    ::close(reports[0]);
    keep(orders[0], reports[1], body);
  }
  ::close(orders[0]);
  ::close(reports[1]);
  orders_ = orders[1];
  reports_ = reports[0];
}

ForkServer::~ForkServer() {
  ::close(orders_);
  ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) != pid_) {
  }
  ::close(reports_);
}

void ForkServer::start(std::uint32_t birth) const {
  if (::write(orders_, &birth, sizeof birth) != sizeof birth) std::abort();
}

std::optional<ForkServer::Report> ForkServer::next_report(int timeout_ms) const {
  pollfd watched{reports_, POLLIN, 0};
  if (::poll(&watched, 1, timeout_ms) != 1) return std::nullopt;
  Report report;
  if (::read(reports_, &report, sizeof report) != sizeof report) return std::nullopt;
  return report;
}

}  // namespace exs::test
