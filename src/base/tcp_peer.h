// What the kernel knows of the other end of a TCP connection, if that is on this host. Thread: any.
#pragma once

#include <optional>

namespace exs {

// Whether a program has accepted it, or it still waits in the queue of a listening socket. Asks the kernel by sock_diag(7):
// a few system calls. Nothing: the other end is not in this network namespace, or the kernel does not tell.
[[nodiscard]] std::optional<bool> peer_has_accepted(int descriptor) noexcept;

}  // namespace exs
