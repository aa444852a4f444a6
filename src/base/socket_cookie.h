// The identity of a kernel socket.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "src/base/kernel.h"

namespace exs {

// Names the socket itself, as no other is ever named while the machine runs. Nothing: not a socket. Thread:
// any.
inline std::optional<std::uint64_t> socket_cookie(int number) {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  if (kernel::getsockopt(number, SOL_SOCKET, SO_COOKIE, &cookie, &length) != 0) return std::nullopt;
  return cookie;
}

}  // namespace exs
