// Small facts about TCP sockets. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "base/status.h"

namespace exs::iwarp {

// Non-blocking, and no waiting for more to send.
Status make_ready_for_traffic(int descriptor);

}  // namespace exs::iwarp
