// Announcements of closed listening sockets. Some servers accept one connection and close the listening
// socket at once, as FTP does for data. Callers look for the announcement after that, so the last few stay.
// Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

namespace exs::sockets {

// Takes ownership of the announcement's socket.
void keep_mark(int mark) noexcept;
// Returns the mark with this name to the caller's ownership. -1: there is none.
int take_mark(const sockaddr* name, socklen_t length) noexcept;

}  // namespace exs::sockets
