// Binds sockets. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include "src/api/socket.h"

namespace exs {

// Like bind(2). Also EADDRINUSE, if a provider with its own listener finds the port taken and no other
// provider is allowed. Port 0 becomes a port that is free for all of them.
Status bind_socket(Socket& socket, const sockaddr& address) EXS_REQUIRES(socket.mutex);

// A peer of the network comes to the descriptor itself, so bind(2) and listen(2) know who has its port. False: the choice lets none come,
// or the network's provider has listeners of its own.
[[nodiscard]] bool kernel_listens_for_network(const Choice& choice);

}  // namespace exs
