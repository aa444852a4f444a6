// Descriptors that go from process to process in messages of Unix sockets. Thread: any.
#pragma once

#include <sys/socket.h>

namespace exs::sockets {

// Of a message about to be sent: whoever gets a connection does not know of its lane.
void detach_passed_numbers(const msghdr& message) noexcept;
// Of a message that came: its numbers are new.
void forget_passed_numbers(const msghdr& message) noexcept;

}  // namespace exs::sockets
