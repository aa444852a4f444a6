// Numbers that identify sockets and network namespaces to the kernel. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/stat.h>

#include <cstdint>

#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {

// 0: no such descriptor.
inline std::uint64_t inode_of(int descriptor) noexcept {
  struct stat about {};
  return raw::sys(SYS_fstat, descriptor, &about) == 0 ? about.st_ino : 0;
}
// 0: the kernel has no number for it.
inline std::uint64_t namespace_of(int descriptor) noexcept {
  std::uint64_t cookie = 0;
  socklen_t length = sizeof cookie;
  const long result = raw::sys(SYS_getsockopt, descriptor, SOL_SOCKET, SO_NETNS_COOKIE, &cookie, &length);
  return result == 0 ? cookie : 0;
}
// The two are in one network namespace, as far as the kernel tells.
inline bool have_one_namespace(int one, int other) noexcept {
  return namespace_of(one) == namespace_of(other);
}

}  // namespace exs::sockets
