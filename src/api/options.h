// What exs_fcntl and the socket options have in common: until when a wish can be told.
#pragma once

#include "src/api/socket.h"

namespace exs {

// A connection stands or stood, so there is an agreement.
bool is_connected(const Socket& socket);
// Wishes were told to the peer, or will be told to those who connect.
bool too_late(Socket& socket) EXS_REQUIRES(socket.mutex);

}  // namespace exs
