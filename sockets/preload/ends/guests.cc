// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/ends/guests.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "sockets/preload/kernel/log_line.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets {
namespace {

constexpr int kKeptMax = 16;
std::atomic<int> kept{0};

void keep(int descriptor) noexcept {
  hide(descriptor);
  if (kept.fetch_add(1) + 1 == kKeptMax)
    log_line(
        "strangers send descriptors to sockets of the layer: no connection of this process takes shared "
        "memory from now on; stop them, or use EXS_SOCKETS=off");
}

bool is_memory_file(int descriptor) noexcept {
  return raw::sys(SYS_fcntl, descriptor, F_GET_SEALS, 0) >= 0;
}

int passed_by(msghdr& message) noexcept {
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(control), sizeof descriptor);
    return descriptor;
  }
  return -1;
}

// Takes the messages without a descriptor, and those with a memory file, such as an unused offer. Closes no
// other descriptor. True also if the messages do not end.
bool holds_descriptors(int socket) noexcept {
  constexpr int kMessagesMax = 1024;  // more than the kernel's queue holds
  const int on = 1;
  raw::sys(SYS_shutdown, socket, SHUT_RD);  // no further message arrives
  // Each message then has credentials; the end of the messages has none.
  if (raw::sys(SYS_setsockopt, socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) != 0) return true;
  for (int i = 0; i < kMessagesMax; ++i) {
    char byte;
    iovec part{&byte, sizeof byte};
    alignas(cmsghdr) char room[CMSG_SPACE(sizeof(ucred)) + CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = room;
    message.msg_controllen = CMSG_SPACE(sizeof(ucred)) + CMSG_LEN(sizeof(int));  // one descriptor
    const long count = raw::sys(SYS_recvmsg, socket, &message, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (count < 0) return count != -EAGAIN && count != -EINVAL && count != -ENOTCONN && count != -ECONNRESET;
    if (message.msg_controllen == 0) return false;
    const int passed = passed_by(message);
    const bool is_memory = passed < 0 || is_memory_file(passed);
    close_passed(passed);
    if ((message.msg_flags & MSG_CTRUNC) != 0 || !is_memory) return true;
    raw::sys(SYS_recvfrom, socket, &byte, sizeof byte, MSG_DONTWAIT, nullptr, nullptr);
  }
  return true;
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
  if (!is_memory_file(descriptor)) return keep(descriptor);
  raw::sys(SYS_close, descriptor);
}

bool may_have_guests() noexcept {
  return kept.load(std::memory_order_relaxed) < kKeptMax;
}

}  // namespace exs::sockets
