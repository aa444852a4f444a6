// Transfers between a connection and a file or pipe.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <poll.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/transfer/transfer.h"

namespace exs::sockets {
namespace {

// Uses `by_lane` if the lane carries the connection.
template <typename Call, typename Lane>
ssize_t send_by(int number, const Call& call, const Lane& by_lane) noexcept {
  const std::uint32_t slot = slot_of(number);
  if (slot == 0) return call();
  if (const int error = take_error(slot); error != 0) {
    errno = error;
    return -1;
  }
  {
    PlainSend plain(number, slot);
    if (plain.allowed()) return plain.done(call(), 0);
  }
  return by_lane(slot);
}
template <typename Call>
ssize_t send_by_kernel(int number, const Call& call) noexcept {
  return send_by(number, call, [&](std::uint32_t slot) {
    KernelSend inside(number, slot);
    return inside.done(call());
  });
}

bool is_file(int number) noexcept {
  struct stat about {};
  return fstat(number, &about) == 0 && S_ISREG(about.st_mode);
}

// Sends bytes of a file from `offset`, and advances it by the bytes sent.
ssize_t send_file(int to, std::uint32_t slot, int from, off64_t& offset, std::size_t bytes) noexcept {
  char buffer[16 * 1024];
  std::size_t total = 0;
  bytes = std::min(bytes, Parts::kBytesMax);
  while (total < bytes) {
    const ssize_t there = pread64(from, buffer, std::min(bytes - total, sizeof buffer), offset);
    if (there <= 0) return total > 0 ? static_cast<ssize_t>(total) : there;
    const iovec part{buffer, static_cast<std::size_t>(there)};
    const ssize_t sent = send(to, slot, Parts(&part, 1), total > 0 ? MSG_NOSIGNAL : 0);
    if (sent < 0) return total > 0 ? static_cast<ssize_t>(total) : -1;
    total += static_cast<std::size_t>(sent);
    offset += sent;
    if (sent < there) break;
  }
  return static_cast<ssize_t>(total);
}

// Sends from the file's position, and advances it.
ssize_t send_file_from_position(int to, std::uint32_t slot, int from, std::size_t bytes) noexcept {
  off64_t offset = lseek64(from, 0, SEEK_CUR);
  const ssize_t sent = offset < 0 ? -1 : send_file(to, slot, from, offset, bytes);
  if (sent > 0) lseek64(from, offset, SEEK_SET);
  return sent;
}

// The kernel's own call serves what is no file, and reports errors.
template <typename Call>
ssize_t send_file_or(int to, int from, off64_t* offset, std::size_t bytes, const Call& call) noexcept {
  return send_by(to, call, [&](std::uint32_t slot) -> ssize_t {
    if (bytes > 0 && is_file(from) && (offset == nullptr || is_writable(offset, sizeof *offset)))
      return offset == nullptr ? send_file_from_position(to, slot, from, bytes)
                               : send_file(to, slot, from, *offset, bytes);
    KernelSend inside(to, slot);
    return inside.done(call());
  });
}

bool is_pipe(int number) noexcept {
  struct stat about {};
  return fstat(number, &about) == 0 && S_ISFIFO(about.st_mode);
}

// Copies to the pipe, then removes what the pipe has accepted from the connection. SPLICE_F_NONBLOCK concerns
// the pipe only.
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
  // A blocking pipe accepts all. After a short count the rest stays in the connection.
  const ssize_t moved = libc().write(pipe, buffer, static_cast<std::size_t>(there));
  if (moved <= 0) return moved;
  const iovec taken{buffer, static_cast<std::size_t>(moved)};
  return receive(number, slot, Parts(&taken, 1), MSG_DONTWAIT | MSG_WAITALL);
}

}  // namespace
}  // namespace exs::sockets

using namespace exs::sockets;

EXS_EXPORT ssize_t sendfile(int to, int from, off_t* offset, size_t bytes) noexcept {
  return send_file_or(to, from, offset, bytes, [&] { return libc().sendfile(to, from, offset, bytes); });
}
EXS_EXPORT ssize_t sendfile64(int to, int from, off64_t* offset, size_t bytes) noexcept {
  return send_file_or(to, from, offset, bytes, [&] { return libc().sendfile64(to, from, offset, bytes); });
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
    // The call fails.
    return call();
  return splice_in(from, slot, to, bytes, flags);
}
