// Descriptors in messages of Unix sockets. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

namespace exs::sockets {

// Detaches the connections in a message about to be sent, because the receiver knows nothing of their lanes.
void detach_passed_numbers(const msghdr& message) noexcept;
// Forgets the numbers in a received message, which are new.
void forget_passed_numbers(const msghdr& message) noexcept;

}  // namespace exs::sockets
