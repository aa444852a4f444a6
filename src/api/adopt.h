// The sockets that calls name. The first exs call that names a kernel stream socket of the application adopts it.
//
// An adopted socket has the application's number, which may come to mean another socket, so every look asks the
// kernel (0.2 us); the sockets of exs_socket do without. Not adopted is what is or was exs's own (OwnSockets): a
// connection that is being set up, a number that waiting events hold after exs_close, and in a child after fork the
// sockets of its parent.
#pragma once

#include "src/api/library.h"

namespace exs {

// Finds the socket, or adopts it. Null: closed, or nothing that exs can use, which a log line tells with the cure.
// One that is kUnconnected is for this call alone.
std::shared_ptr<Socket> find_socket(Library& library, int number);
// Into the table. EMFILE.
Status insert_socket(Library& library, const std::shared_ptr<Socket>& socket);
// Out of the table, to be closed. Whoever gets the socket back removed it; everybody else gets null. In no
// ReadSection.
std::shared_ptr<Socket> remove_socket(Library& library, int number);
// At the end of the library: true for who removed it. Sockets that the application made stay open.
bool release_socket(Library& library, const std::shared_ptr<Socket>& socket);

// Before a call that names `queue` asks for socket.session(): an adopted connection lives on the home shard of the
// first queue named for it. EBADF; EAGAIN no engine thread to be had; success also when there is nothing to do.
Status assign_home(Library& library, Socket& socket, exs_qhandle_t queue);
// Before a call that names none: on the next shard in turn, if it has no home yet.
Status assign_any_home(Library& library, Socket& socket);

}  // namespace exs
