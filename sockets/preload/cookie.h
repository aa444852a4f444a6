// Numbers that the kernel gives out once. Thread: any.
#pragma once

#include <sys/socket.h>

#include <cstdint>

#include "sockets/preload/raw.h"

namespace exs::sockets {

// Of a socket (SO_COOKIE), or of its network namespace (SO_NETNS_COOKIE); 0: the kernel tells none.
inline std::uint64_t cookie_of(int descriptor, int name) noexcept {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  return raw::sys(SYS_getsockopt, descriptor, SOL_SOCKET, name, &cookie, &length) == 0 ? cookie : 0;
}
// Whether they are in one network namespace, as far as the kernel tells.
inline bool have_one_namespace(int one, int other) noexcept {
  return cookie_of(one, SO_NETNS_COOKIE) == cookie_of(other, SO_NETNS_COOKIE);
}

}  // namespace exs::sockets
