// The result of a program's call, with errno set accordingly. Thread: the call's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cerrno>
#include <cstddef>

#include "sockets/preload/table/slot.h"

namespace exs::sockets {

inline ssize_t fail(int error) noexcept {
  errno = error;
  return -1;
}
// `total`: bytes that the call moved before `result`.
inline ssize_t outcome(FamilySlot& slot, std::size_t total, long result) noexcept {
  // TCP reports an error once. This call returns bytes, so the next one must report it.
  if (total > 0 && result < 0 && result != -EAGAIN && result != -EINTR && result != -EFAULT)
    keep_error(slot, static_cast<int>(-result));
  if (total > 0) return static_cast<ssize_t>(total);
  return result < 0 ? fail(static_cast<int>(-result)) : result;
}

}  // namespace exs::sockets
