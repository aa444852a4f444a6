// Starts to listen. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/api/socket.h"

namespace exs {

// Listens by the kernel's socket, and by every provider with its own listener that the socket's choice
// allows. Fills the socket's listening_points(). Errors as exs_listen.
Status start_listening(Socket& socket, int backlog) EXS_REQUIRES(socket.mutex);

}  // namespace exs
