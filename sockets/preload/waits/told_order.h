// The order in which one wait reports events of the kernel and of our rings. The kernel keeps a list. A
// reported connection that stays ready moves to its end, before those that get ready later. So the
// connections of the last wait come first.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/epoll.h>

#include <cstdint>

#include "sockets/preload/waits/registrations.h"

namespace exs::sockets {

// If the kernel reported bells alone, their connections join the list of the rings, which has the order of
// all. A connection that only the kernel knows would miss its turn in each wait that does not ask the kernel.
// Returns the number of events that stay the kernel's. Next to others all stay: the kernel alone knows their
// order. Thread: any; takes the table's lock.
int without_bells(std::uint32_t set, const epoll_event* events, int told) noexcept;

// Only the kernel was asked, and it reported nothing. Thread: any.
void forget_told(Set& set) noexcept;
// Puts the kernel's events in order and remembers them.
void remember_told(std::uint32_t set, epoll_event* events, int count, int max) noexcept
    EXS_REQUIRES(g_table_mutex);

// Orders `count` events: `told` of the kernel, then those of `ours` that the kernel did not report. `asked`:
// the kernel could report events. Thread: any; takes the table's lock unless only rings are involved.
void put_in_order(std::uint32_t set, bool asked, epoll_event* events, int told, int ours, int count,
                  int max) noexcept;

}  // namespace exs::sockets
