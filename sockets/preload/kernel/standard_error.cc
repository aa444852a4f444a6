// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/standard_error.h"

#include <linux/fs.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

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

}  // namespace

void write_to_standard_error(const char* line, std::size_t length) noexcept {
  if (is_connection()) return;
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

}  // namespace exs::sockets
