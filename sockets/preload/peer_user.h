// Whose the other end of a TCP connection is, as the kernel knows it. Thread: any.
#pragma once

#include <sys/types.h>

#include "sockets/preload/point.h"

namespace exs::sockets {

// The user that made the socket which has these names, of this network namespace. False: there is none, or the kernel does
// not tell.
bool user_of_socket(const Point& own, const Point& peer, uid_t& user) noexcept;

}  // namespace exs::sockets
