// Wakes who sleeps in the kernel's wait for an epoll set, when a connection comes into the set that has bytes which no bell told of:
// a descriptor of the layer's own, always readable, lies in the set until the next wait. No program sees it. Thread: any.
#pragma once

#include <sys/epoll.h>

namespace exs::sockets {

// Without a descriptor left, nobody is woken.
void put_waker_into(int set) noexcept;
void take_waker_from(int set) noexcept;
// What the kernel told, without the waker, which is taken from the set if it is there; how many events are left.
int without_waker(int set, epoll_event* events, int count) noexcept;

}  // namespace exs::sockets
