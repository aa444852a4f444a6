// Starts to listen. Thread: any.
#pragma once

#include "src/api/socket.h"

namespace exs {

// By the kernel's socket and by every provider that the socket's choice allows and that listens by itself: its listening_points() then
// are there. Errors as exs_listen.
Status start_listening(Socket& socket, int backlog) EXS_REQUIRES(socket.mutex);

}  // namespace exs
