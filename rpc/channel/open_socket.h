// Sockets of exs for messages. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <string_view>

#include "exs/exs.h"

namespace exs::rpc {

// -1, and errno, as exs_socket(). `label`: its name in exs-top.
inline int open_socket(int family, std::string_view label) noexcept {
  const int socket = exs_socket(family, SOCK_SEQPACKET, 0);
  if (socket >= 0)
    exs_setsockopt(socket, SOL_EXS, EXS_SO_LABEL, label.data(), static_cast<socklen_t>(label.size()));
  return socket;
}

}  // namespace exs::rpc
