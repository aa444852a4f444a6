// Epoll sets inherited from the process's previous program, or from its parent. Thread: the program's first.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace exs::sockets {

// Reads the set's registrations from the kernel. Bytes that were looked at have no bell, so the layer has to
// know the waiters.
void adopt_epoll_set(int number) noexcept;

}  // namespace exs::sockets
