// A client handle of libtirpc that takes a link when both ends have agreed on one, and stays what it was until then. Its TCP
// connection remains, and carries what the link does not. Thread: any; calls of a handle take turns.
#pragma once

#include <rpc/rpc.h>

namespace exs::rpc {

inline constexpr rpcprog_t kRpcbindProgram = 100000;  // always called as before

// Puts our operations before those of a handle of a connection, if they are not there yet.
void adopt_client(CLIENT* client);
// Asks its server for a link now. Whether it has one.
bool link_client(CLIENT* client);

}  // namespace exs::rpc
