// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/log_line.h"

#include <linux/fs.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "sockets/preload/raw.h"
#include "sockets/preload/spin.h"

namespace exs::sockets {
namespace {

constexpr std::size_t kLineMax = 512;

// Takes a SIGPIPE of our own write before it reaches the program. A signal that was pending before stays
// pending.
class HeldPipeSignal {
 public:
  HeldPipeSignal() noexcept {
    raw::sys(SYS_rt_sigpending, &pending_, sizeof pending_);
    raw::sys(SYS_rt_sigprocmask, SIG_BLOCK, &kPipe, &before_, sizeof before_);
  }
  ~HeldPipeSignal() {
    const timespec at_once{};
    if ((pending_ & kPipe) == 0) raw::sys(SYS_rt_sigtimedwait, &kPipe, nullptr, &at_once, sizeof kPipe);
    raw::sys(SYS_rt_sigprocmask, SIG_SETMASK, &before_, nullptr, sizeof before_);
  }
  HeldPipeSignal(const HeldPipeSignal&) = delete;
  HeldPipeSignal& operator=(const HeldPipeSignal&) = delete;

 private:
  using Set = std::uint64_t;  // the kernel's signal set
  static constexpr Set kPipe = Set{1} << (SIGPIPE - 1);
  Set pending_ = 0;
  Set before_ = 0;
};

// A server that was started for one connection may have it as standard error. Its peer wants no lines.
bool is_connection() noexcept {
  int family = 0;
  socklen_t bytes = sizeof family;
  return raw::sys(SYS_getsockopt, STDERR_FILENO, SOL_SOCKET, SO_DOMAIN, &family, &bytes) == 0 &&
         family != AF_UNIX;
}

void write_at_once(const char* line, std::size_t length) noexcept {
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  const timespec at_once{};
  if (raw::sys(SYS_ppoll, &room, 1, &at_once, nullptr, 0) != 1 || (room.revents & POLLOUT) == 0) return;
  const HeldPipeSignal held;
  // Another process may fill the room meanwhile. A file without support for the flag never blocks.
  const iovec all{const_cast<char*>(line), length};
  const long written = raw::sys(SYS_pwritev2, STDERR_FILENO, &all, 1, -1, -1, RWF_NOWAIT);
  if (written >= 0 || written == -EPIPE) return;
  struct stat file {};
  if (written == -EAGAIN && (raw::sys(SYS_fstat, STDERR_FILENO, &file) != 0 || !S_ISREG(file.st_mode)))
    return;
  raw::sys(SYS_write, STDERR_FILENO, line, length);
}

void say(const char* format, va_list arguments) noexcept {
  if (is_connection()) return;
  char line[kLineMax];
  const int begun = std::snprintf(line, sizeof line, "exs-sockets: ");
  const int told =
      std::vsnprintf(line + begun, sizeof line - static_cast<std::size_t>(begun) - 1, format, arguments);
  std::size_t length = static_cast<std::size_t>(begun + (told < 0 ? 0 : told));
  if (length > sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  write_at_once(line, length);
}

// The recent lines of one format.
struct Window {
  std::atomic<const char*> format;
  std::atomic<std::uint64_t> begun_ns;
  std::atomic<std::uint32_t> lines;
  std::atomic<std::uint32_t> left_out;
};
constexpr std::size_t kFormats = 16;  // more than there are
constinit Window windows[kFormats];

Window& window_of(const char* format) noexcept {
  for (Window& window : windows) {
    const char* none = nullptr;
    if (window.format.load() == format || window.format.compare_exchange_strong(none, format) ||
        none == format)
      return window;
  }
  return windows[kFormats - 1];
}

// Two threads at the start of a window may write one line too many.
bool may_say(Window& window, std::uint32_t& left_out) noexcept {
  constexpr std::uint64_t kWindowNs = 10'000'000'000;
  constexpr std::uint32_t kLines = 8;
  const std::uint64_t now = monotonic_ns();
  std::uint64_t begun = window.begun_ns.load();
  if ((begun == 0 || now - begun >= kWindowNs) && window.begun_ns.compare_exchange_strong(begun, now)) {
    window.lines.store(0);
    left_out = window.left_out.exchange(0);
  }
  if (window.lines.fetch_add(1) < kLines) return true;
  window.left_out.fetch_add(1);
  return false;
}

}  // namespace

void tell_line(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

void log_line(const char* format, ...) noexcept {
  std::uint32_t left_out = 0;
  if (!may_say(window_of(format), left_out)) return;
  if (left_out > 0) tell_line("%u more lines like the next one were left out", left_out);
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

}  // namespace exs::sockets
