// The mark of a listening socket in a preloaded process: an abstract Unix socket named by the port. Callers
// on this host look for it. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/settings/why.h"

namespace exs::sockets {

// Negative: another socket has the mark already, or it cannot be made.
int announce_listener(int number) noexcept;
// kNone: a preloaded process listens at the port. `number` is a connection to it.
Why why_not_announced(std::uint16_t port, int number) noexcept;
// Makes a Unix socket for a meeting. Negative: the kernel refuses.
int unix_socket(int type) noexcept;

}  // namespace exs::sockets
