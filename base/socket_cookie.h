// The identity of a kernel socket.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "base/kernel.h"

namespace exs {

// Names the socket itself, as no other is ever named while the machine runs. Nothing: not a socket. Thread:
// any.
inline std::optional<std::uint64_t> socket_cookie(int number) {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  if (kernel::getsockopt(number, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) return std::nullopt;
  return cookie;
}

// Like shutdown(2), but only if the number still belongs to the socket with that cookie; a program may have
// closed it. 0: the cookie is unknown.
inline void shut_down(int number, std::uint64_t cookie, int how) {
  if (cookie == 0 || socket_cookie(number).value_or(cookie) == cookie) kernel::shutdown(number, how);
}

}  // namespace exs
