// Wakes threads that sleep in the kernel's wait for an epoll set. This is needed when a connection with bytes
// but no bell joins the set. A descriptor of the layer, always readable, stays in the set until the next
// wait. No program sees it. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/epoll.h>

namespace exs::sockets {

// Does nothing if no descriptor is left.
void put_waker_into(int set) noexcept;
void take_waker_from(int set) noexcept;
// Removes the waker from the kernel's events and from the set. Returns the number of remaining events.
int without_waker(int set, epoll_event* events, int count) noexcept;

}  // namespace exs::sockets
