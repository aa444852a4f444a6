// Small facts about TCP sockets. Thread: any.
#pragma once

#include <cstddef>
#include <string>

#include "src/base/status.h"

namespace exs::iwarp {

// Non-blocking, and no waiting for more to send.
Status make_ready_for_traffic(int descriptor);

// "10.0.0.2:9000" or "[::1]:9000"; "unknown peer" when the kernel does not know either.
std::string name_of_peer(int descriptor);

}  // namespace exs::iwarp
