// Retiring: the layer leaves a process for good. This serves processes that will use sockets past the C
// library, or that the kernel may kill for a system call of the layer. Each connection goes back to TCP, the
// layer keeps nothing open, and wrappers only call the C library. Programs that this process executes are
// served again.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// The unread bytes of a ring move to TCP if the peer runs within 100 ms (detach.h). Thread: any.
void retire(Why why) noexcept;

}  // namespace exs::sockets
