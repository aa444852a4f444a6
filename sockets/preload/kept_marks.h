// Announcements of listening sockets that are closed. A server that accepts one connection and closes its listening socket, as for
// the data of FTP, is asked for after that; so the last few stay. Thread: any.
#pragma once

#include <sys/socket.h>

namespace exs::sockets {

// Takes the announcement's socket over.
void keep_mark(int mark) noexcept;
// One with this name, which is the caller's again; -1: there is none.
int take_mark(const sockaddr* name, socklen_t length) noexcept;

}  // namespace exs::sockets
