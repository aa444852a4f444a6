// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/meeting/listener_mark.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/point.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/rules.h"
#include "sockets/preload/meeting/kept_marks.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets {
namespace {

// An abstract name.
struct MarkName {
  sockaddr_un address{};
  socklen_t length = 0;

  explicit MarkName(std::uint16_t port) noexcept {
    address.sun_family = AF_UNIX;
    const int bytes =
        std::snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "exs-sock/1/L/%u", port);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + static_cast<std::size_t>(bytes));
  }
};

}  // namespace

int unix_socket(int type) noexcept {
  return static_cast<int>(raw::sys(SYS_socket, AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int announce_listener(int number) noexcept {
  Point own{};
  if (!point_of(SYS_getsockname, number, own) || own.port == 0 || !rules().may_accept(own.port) ||
      !may_hide())
    return -1;
  const MarkName name(own.port);
  if (const int kept = take_mark(reinterpret_cast<const sockaddr*>(&name.address), name.length); kept >= 0)
    return kept;
  const int mark = unix_socket(SOCK_DGRAM);
  if (mark < 0) return -1;
  raw::sys(SYS_shutdown, mark, SHUT_RDWR);  // no process can send to it
  if (have_one_namespace(mark, number) && raw::sys(SYS_bind, mark, &name.address, name.length) == 0)
    return hide(mark);
  raw::sys(SYS_close, mark);
  return -1;
}

Why why_not_announced(std::uint16_t port, int number) noexcept {
  const int probe = unix_socket(SOCK_DGRAM);
  if (probe < 0) return Why::kNoDescriptors;
  const MarkName name(port);
  const bool listens = raw::sys(SYS_connect, probe, &name.address, name.length) == 0;
  const bool same_space = have_one_namespace(probe, number);
  raw::sys(SYS_close, probe);
  if (!listens) return Why::kPeerNotPreloaded;
  return same_space ? Why::kNone : Why::kOtherNetns;
}

}  // namespace exs::sockets
