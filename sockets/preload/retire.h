// The layer leaves a process that will use its sockets past the C library, or that may soon be killed for a system call of the
// layer's own: each connection is TCP's from now on, nothing of the layer is open any more, and a wrapper calls the C library and
// does nothing else. Programs that this one executes are served again.
#pragma once

#include "sockets/preload/slot.h"

namespace exs::sockets {

// What lies unread in a ring is sent by TCP if the peer runs within 100 ms (detach.h). Thread: any.
void retire(Why why) noexcept;

}  // namespace exs::sockets
