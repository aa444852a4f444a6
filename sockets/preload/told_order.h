// In which order one wait tells of what the kernel has found and of what our rings have. The kernel keeps a list: who is told and still
// has something goes to its end in that order, before those that get something meanwhile. So who was told last time comes first.
#pragma once

#include <sys/epoll.h>

#include <cstdint>

#include "sockets/preload/registrations.h"

namespace exs::sockets {

// The kernel alone was asked, and had nothing to tell. Thread: any.
void forget_told(Set& set) noexcept;
// It told these, which are put in order. Thread: holder of the table's lock.
void remember_told(std::uint32_t set, epoll_event* events, int count, int max) noexcept;

// `count` events, `told` of the kernel's and behind them those of `ours` that it did not tell of, too; `asked`: the kernel had the chance to tell.
// Thread: any; it takes the table's lock, unless the kernel has nothing to do with it.
void put_in_order(std::uint32_t set, bool asked, epoll_event* events, int told, int ours, int count,
                  int max) noexcept;

}  // namespace exs::sockets
