// Wakes the thread that waits for a queue. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include <cerrno>

#include "base/kernel.h"
#include "exs/exs.h"

namespace exs::rpc {

// A full queue has events, so its thread does not sleep. Without memory for an event the thread would sleep on, so it is tried again.
inline void wake_up(exs_qhandle_t queue, exs_ahandle_t handle) {
  constexpr int kTries = 1000;
  constexpr timespec kMoment = {0, 1'000'000};
  for (int i = 0; i < kTries && exs_qpost(queue, handle, nullptr) != 0 && errno == ENOMEM; ++i)
    kernel::nanosleep(&kMoment, nullptr);
}

}  // namespace exs::rpc
