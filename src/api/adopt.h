// Kernel stream sockets that the application made: the first exs call that names one adopts it.
#pragma once

#include "src/api/library.h"

namespace exs {

// Null: closed, or nothing that exs can use, which a log line tells with the cure. kUnconnected: for one
// call.
std::shared_ptr<Socket> adopt(int number);

// Its number has come to mean another socket, or none: its operations end with ECANCELED. The caller removed
// it from the table.
void abandon(Library& library, const std::shared_ptr<Socket>& socket);

// Before a call that names `queue` asks for socket.session(): an adopted connection lives on the home shard
// of the first queue named for it. EBADF; EAGAIN no engine thread to be had; success also when there is
// nothing to do.
Status settle(Library& library, Socket& socket, exs_qhandle_t queue);
// Before a call that names none: on the next shard in turn, if it has no home yet.
Status settle_anywhere(Library& library, Socket& socket);

}  // namespace exs
