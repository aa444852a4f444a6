// The end of a connection whose bytes can no longer be told apart. Thread: any.
#pragma once

namespace exs::sockets {

// Resets it, as if the peer had, and logs a line with the cause.
void reset_connection(int number, const char* cause) noexcept;

}  // namespace exs::sockets
