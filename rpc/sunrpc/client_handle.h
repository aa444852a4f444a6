// A client handle of libtirpc that uses a link once both ends have agreed on one, and works as before until then. Its TCP connection
// remains, and carries the calls that the link does not. Thread: any; calls of a handle take turns.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

namespace exs::rpc {

inline constexpr rpcprog_t kRpcbindProgram = 100000;  // its calls never use a link

// Puts our operations before those of a TCP handle, if they are not there yet. Returns false if memory ran out: the handle is as libtirpc
// made it.
bool adopt_client(CLIENT* client);
// Asks the handle's server for a link now. Returns whether the handle has one.
bool link_client(CLIENT* client);

}  // namespace exs::rpc
