// Bytes that go between a connection and a file or a pipe.
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "sockets/preload/libc.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table.h"
#include "sockets/preload/transfer.h"

namespace exs::sockets {
namespace {

template <typename Call>
ssize_t send_by_kernel(int number, const Call& call) noexcept {
  const std::uint32_t slot = slot_of(number);
  if (slot == 0) return call();
  if (const int error = take_error(slot); error != 0) {
    errno = error;
    return -1;
  }
  {
    PlainSend plain(number, slot);
    if (plain.allowed()) return plain.done(call());
  }
  const KernelSend inside(number, slot);
  return call();
}

bool is_pipe(int number) noexcept {
  struct stat about {};
  return fstat(number, &about) == 0 && S_ISFIFO(about.st_mode);
}

// From a connection into a pipe: what the pipe has taken is then taken from the connection. SPLICE_F_NONBLOCK is about the pipe alone.
ssize_t splice_in(int number, std::uint32_t slot, int pipe, std::size_t bytes, unsigned flags) noexcept {
  char buffer[16 * 1024];
  const iovec part{buffer, std::min(bytes, sizeof buffer)};
  const ssize_t there = receive(number, slot, Parts(&part, 1), MSG_PEEK);
  if (there <= 0) return there;
  if ((flags & SPLICE_F_NONBLOCK) != 0) {
    pollfd room{pipe, POLLOUT, 0};
    if (libc().poll(&room, 1, 0) != 1) {
      errno = EAGAIN;
      return -1;
    }
  }
  // A blocking pipe takes all; of another one's short count the rest stays in the connection.
  const ssize_t moved = libc().write(pipe, buffer, static_cast<std::size_t>(there));
  if (moved <= 0) return moved;
  const iovec taken{buffer, static_cast<std::size_t>(moved)};
  return receive(number, slot, Parts(&taken, 1), MSG_DONTWAIT | MSG_WAITALL);
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT ssize_t sendfile(int to, int from, off_t* offset, size_t bytes) noexcept {
  return send_by_kernel(to, [&] { return libc().sendfile(to, from, offset, bytes); });
}
EXS_EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, size_t bytes) noexcept {
  return send_by_kernel(to, [&] { return libc().sendfile64(to, from, offset, bytes); });
}
EXS_EXPORT ssize_t splice(int from, off64_t* from_offset, int to, off64_t* to_offset, size_t bytes,
                          unsigned flags) {
  const auto call = [&] { return libc().splice(from, from_offset, to, to_offset, bytes, flags); };
  const std::uint32_t slot = slot_of(from);
  if (slot == 0) return send_by_kernel(to, call);
  {
    PlainReceive plain(from, slot);
    if (plain.allowed()) return plain.done(call());
  }
  if (from_offset != nullptr || to_offset != nullptr || bytes == 0 || !is_pipe(to))
    return call();  // which fails
  return splice_in(from, slot, to, bytes, flags);
}
