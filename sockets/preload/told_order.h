// The order in which one wait reports events of the kernel and of our rings. The kernel keeps a list. A
// reported connection that stays ready moves to its end, before those that get ready later. So the
// connections of the last wait come first.
#pragma once

#include <sys/epoll.h>

#include <cstdint>

#include "sockets/preload/registrations.h"

namespace exs::sockets {

// Only the kernel was asked, and it reported nothing. Thread: any.
void forget_told(Set& set) noexcept;
// Puts the kernel's events in order and remembers them. Thread: holder of the table's lock.
void remember_told(std::uint32_t set, epoll_event* events, int count, int max) noexcept;

// Orders `count` events: `told` of the kernel, then those of `ours` that the kernel did not report. `asked`:
// the kernel could report events. Thread: any; takes the table's lock unless only rings are involved.
void put_in_order(std::uint32_t set, bool asked, epoll_event* events, int told, int ours, int count,
                  int max) noexcept;

}  // namespace exs::sockets
