// Calls by libtirpc: over TCP, over a local socket, and over exs with libexs-sunrpc.so.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "perf/rpc_ping/way.h"

namespace rpc_ping {

Way sunrpc_by_tcp();
Way sunrpc_by_local_socket();
Way sunrpc_by_exs();
// The same with unregistered memory, and with arguments and results that stay in the messages.
Way sunrpc_reduced();
Way sunrpc_without_copies();

}  // namespace rpc_ping
