// Binds sockets. Thread: any.
#pragma once

#include <sys/socket.h>

#include "src/api/socket.h"

namespace exs {

// As bind(2), and EADDRINUSE, too, where a provider that listens by itself finds the port taken and no other is allowed. A
// port of 0 becomes one that is free to all of them.
Status bind_socket(Socket& socket, const sockaddr& address) EXS_REQUIRES(socket.mutex);

}  // namespace exs
