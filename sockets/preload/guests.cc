#include "sockets/preload/guests.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>

#include "sockets/preload/hidden.h"
#include "sockets/preload/raw.h"
#include "sockets/preload/runtime.h"

namespace exs::sockets {
namespace {

constexpr int kKeptMax = 16;
std::atomic<int> kept{0};

// Nothing is taken that comes with descriptors, so that none of them is closed. True also of what has no end.
bool holds_descriptors(int socket) noexcept {
  constexpr int kMessagesMax = 1024;  // more than a queue of the kernel's takes
  const int on = 1;
  raw::sys(SYS_shutdown, socket, SHUT_RD);  // nothing comes any more
  // Each message then has credentials, which fill the room for more: the end has none.
  if (raw::sys(SYS_setsockopt, socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return true;
  for (int i = 0; i < kMessagesMax; ++i) {
    char byte;
    iovec part{&byte, sizeof byte};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = sizeof room;
    const long count = raw::sys(SYS_recvmsg, socket, &message, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0) return count != -EAGAIN && count != -EINVAL && count != -ENOTCONN && count != -ECONNRESET;
    if ((message.msg_flags & MSG_CTRUNC) != 0) return true;
    if (message.msg_controllen == 0) return false;
    raw::sys(SYS_recvfrom, socket, &byte, sizeof byte, MSG_DONTWAIT, nullptr, nullptr);
  }
  return true;
}

void keep(int descriptor) noexcept {
  hide(descriptor);
  if (kept.fetch_add(1) + 1 == kKeptMax)
    log_line(
        "strangers send descriptors to sockets of the layer: no connection of this process takes shared "
        "memory from now on; stop them, or use EXS_SOCKETS=off");
}

void close_one(int socket) noexcept {
  if (holds_descriptors(socket)) {
    keep(socket);
  } else {
    close_hidden(socket);
  }
}

}  // namespace

void close_guest(int descriptor) noexcept {
  if (descriptor < 0) return;
  raw::sys(SYS_shutdown, descriptor, SHUT_RD);
  for (long guest; (guest = raw::sys(SYS_accept4, descriptor, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;)
    close_one(static_cast<int>(guest));
  close_one(descriptor);
}

void close_passed(int descriptor) noexcept {
  if (descriptor < 0) return;
  if (raw::sys(SYS_fcntl, descriptor, F_GET_SEALS, 0) < 0) return keep(descriptor);
  raw::sys(SYS_close, descriptor);
}

bool may_have_guests() noexcept {
  return kept.load(std::memory_order_relaxed) < kKeptMax;
}

}  // namespace exs::sockets
