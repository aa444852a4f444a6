// Finds the sockets that calls name. The first exs call that names a kernel stream socket of the application
// adopts it.
//
// The number of an adopted socket is the application's and may come to mean another socket. So every look-up
// asks the kernel (0.2 us); sockets of exs_socket need no such question. The library's own sockets, present
// or past (OwnSockets), are never adopted: a connection during its set-up, a number that waiting events hold
// after exs_close, and in a forked child the sockets of its parent.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/api/library.h"

namespace exs {

// Finds the socket, or adopts it. Null: closed, or nothing that exs can use; a log line says which, and the
// cure. A socket that is kUnconnected is not in the table: it is for this call alone.
std::shared_ptr<Socket> find_socket(Library& library, int number);
// Adds a socket to the table. EMFILE: the number is beyond the table.
Status insert_socket(Library& library, const std::shared_ptr<Socket>& socket);
// Removes a socket from the table to close it. Null: not found, or another thread removed it. Not to be
// called in a ReadSection.
std::shared_ptr<Socket> remove_socket(Library& library, int number);
// Removes a socket at the end of the library. False: another thread removed it. Adopted sockets stay open,
// except those that exs_accept made.
bool release_socket(Library& library, const std::shared_ptr<Socket>& socket);

// An adopted connection lives on the home shard of the first queue that is named for it. To be called before
// socket.session() by calls that name a queue. EBADF; EAGAIN: no engine thread. Success also if there is
// nothing to do.
Status assign_home(Library& library, Socket& socket, exs_qhandle_t queue);
// For calls that name no queue: a socket without a home gets the next shard in turn.
Status assign_any_home(Library& library, Socket& socket);

}  // namespace exs
