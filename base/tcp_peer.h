// The kernel's knowledge of the other end of a TCP connection on this host. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

namespace exs {

// True: a program has accepted the connection; false: it waits in the queue of a listening socket. Asks the
// kernel by sock_diag(7), a few system calls. nullopt: the other end is not in this network namespace, or the
// kernel does not tell.
[[nodiscard]] std::optional<bool> peer_has_accepted(int descriptor) noexcept;

}  // namespace exs
