// The events of an epoll set: those that its rings have, and the kernel's, adapted for the program. Thread: any; they take the
// table's lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/epoll.h>

#include <cstdint>

#include "sockets/preload/waits/registrations.h"

namespace exs::sockets {

// Returns the registered number, or another one of the connection if the program has closed that one.
int number_of(const Registration& registration) noexcept;
// The events of the rings. Like the kernel, reports each connection once and puts it behind the others if it stays ready.
int collect_events(Set& set, int number, epoll_event* events, int max) noexcept;
// Adapts the kernel's events for the program. `max`: the room, if only the kernel was asked; else 0.
int adapt_events(std::uint32_t set, int number, epoll_event* events, int count, int max) noexcept;

}  // namespace exs::sockets
