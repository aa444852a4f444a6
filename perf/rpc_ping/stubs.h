// Calls by stubs of exs-rpcgen.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "perf/rpc_ping/way.h"

namespace rpc_ping {

Way stubs();
Way mapped_stubs();

}  // namespace rpc_ping
