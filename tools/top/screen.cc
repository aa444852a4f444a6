// SPDX-License-Identifier: BSD-2-Clause
#include "tools/top/screen.h"

#include <poll.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "tools/common/failure.h"

namespace top {
namespace {

constexpr std::uint64_t kPauseNs = 1'000'000'000;
// The second screen, without a cursor and without long lines that go on in the next; and back.
constexpr const char* kEnter = "\033[?1049h\033[?25l\033[?7l";
constexpr const char* kLeave = "\033[?7h\033[?25h\033[?1049l";

ScreenSize size_of_terminal() {
  winsize size{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return {};
  return {size.ws_col, size.ws_row};
}

exs::UniqueFd open_signals() {
  sigset_t all;
  sigemptyset(&all);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGWINCH, SIGCONT}) sigaddset(&all, signal);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  exs::UniqueFd signals(::signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals.valid()) tools::fail("signalfd", errno);
  return signals;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace

bool Screen::is_there() {
  return ::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0;
}

Screen::Screen() : signals_(open_signals()) {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0) tools::fail("standard input", errno);
  take_over();
}

Screen::~Screen() {
  print(kLeave);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

// Keys come one by one, and are not shown. Those of signals stay.
void Screen::take_over() {
  termios now = before_;
  now.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
  ::tcsetattr(STDIN_FILENO, TCSANOW, &now);
  print(kEnter);
}

void Screen::draw(const std::vector<std::string>& lines) {
  std::string text = "\033[H";
  for (std::size_t i = 0; i < lines.size(); ++i) text += (i == 0 ? "" : "\r\n") + lines[i] + "\033[K";
  print(text + "\033[J");
}

bool Screen::take_signal() {
  signalfd_siginfo info{};
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCONT) take_over();  // after a stop, the terminal is as the shell wants it
    if (info.ssi_signo != SIGCONT && info.ssi_signo != SIGWINCH) return false;
  }
  return true;
}

void Screen::run(const std::function<void()>& look,
                 const std::function<std::vector<std::string>(ScreenSize)>& show,
                 const std::function<bool(char)>& press) {
  std::array<pollfd, 2> ready{{{STDIN_FILENO, POLLIN, 0}, {signals_.get(), POLLIN, 0}}};
  for (std::uint64_t due_ns = 0;;) {
    if (exs::monotonic_ns() >= due_ns) {
      look();
      due_ns = exs::monotonic_ns() + kPauseNs;
    }
    draw(show(size_of_terminal()));
    const auto left_ms = static_cast<int>(exs::time_left(due_ns, exs::monotonic_ns()) / exs::kNsPerMs);
    if (::poll(ready.data(), ready.size(), left_ms + 1) <= 0) continue;
    if (ready[1].revents != 0 && !take_signal()) return;
    char key = 0;
    if (ready[0].revents != 0 && (::read(STDIN_FILENO, &key, 1) != 1 || !press(key))) return;
  }
}

}  // namespace top
