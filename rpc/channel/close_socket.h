// Closes sockets of exs for good. A close may lack memory, and then has changed nothing; it is tried again. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <time.h>

#include <cerrno>

#include "base/kernel.h"
#include "exs/exs.h"

namespace exs::rpc {

inline void close_socket(int socket) {
  constexpr int kTries = 1000;
  constexpr timespec kMoment = {0, 1'000'000};
  for (int i = 0; i < kTries && exs_close(socket) != 0 && errno == ENOMEM; ++i)
    kernel::nanosleep(&kMoment, nullptr);
}

// Without waiting: the peer is notified, and stops reading our memory.
inline void close_at_once(int socket) {
  constexpr int kAtOnce = 0;
  exs_setsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, &kAtOnce, sizeof kAtOnce);
  close_socket(socket);
}

}  // namespace exs::rpc
