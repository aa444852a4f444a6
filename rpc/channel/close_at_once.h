// Closes a socket without waiting: the peer is notified, and stops reading our memory. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "exs/exs.h"

namespace exs::rpc {

inline void close_at_once(int socket) {
  constexpr int kAtOnce = 0;
  exs_setsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, &kAtOnce, sizeof kAtOnce);
  exs_close(socket);
}

}  // namespace exs::rpc
