// EXS_SO_REASON: what a connection found out about its providers, as exs.h has it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include "base/status.h"
#include "src/provider/explanation.h"

namespace exs {

// Writes as many whole entries as fit in `*length` bytes at `room`, and sets `*length` to what all of them
// need. EINVAL: not one of them fits.
Status put_reasons(const Explanation& explanation, void* room, socklen_t* length);

}  // namespace exs
