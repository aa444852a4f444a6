// The common rules of exs_fcntl and the socket options: until when an option can be set.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/api/socket.h"

namespace exs {

// The socket is or was connected, so there is an agreement.
bool is_connected(const Socket& socket);
// The socket connects or listens, so the peer may know its options.
bool too_late(Socket& socket) EXS_REQUIRES(socket.mutex);
Status set_too_late();  // EISCONN

}  // namespace exs
