// The errors of exs_qwait() after which a thread that serves a queue goes on. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include <cerrno>

#include "base/kernel.h"

namespace exs::rpc {

// Reads errno. A thread without memory for its first wait sleeps for a moment here; it must not end, because its queue has no other.
inline bool may_wait_again() {
  if (errno == ENOMEM) {
    constexpr timespec kMoment = {0, 1'000'000};
    kernel::nanosleep(&kMoment, nullptr);
    return true;
  }
  return errno == EINTR;
}

}  // namespace exs::rpc
