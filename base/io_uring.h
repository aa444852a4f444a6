// The user's decision whether the library may use io_uring.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>
#include <string_view>

namespace exs {

// EXS_IWARP_BACKEND=epoll says no to all of its uses. Thread: any.
inline bool io_uring_is_allowed() {
  const char* const backend = std::getenv("EXS_IWARP_BACKEND");
  return backend == nullptr || std::string_view(backend) != "epoll";
}

}  // namespace exs
