// EXS_SO_REASON: what a connection found out about its providers, as exs.h has it.
#pragma once

#include <sys/socket.h>

#include "src/base/status.h"
#include "src/provider/explanation.h"

namespace exs {

// Whole entries, as many as fit in `*length` bytes at `room`; `*length` becomes what all of them need.
// EINVAL: not even one fits, and there is one.
Status put_reasons(const Explanation& explanation, void* room, socklen_t* length);

}  // namespace exs
