// The epoll sets of this process, as far as our epoll_ctl has seen them: which connections are in which set,
// with which data. The kernel's sets stay as they are without the layer. These sets are checked before the
// kernel. Thread: any.
//
// Design notes
// 1. A connection that is read while it may be looked at becomes hot in all its sets. Its peer then rings no
//    bells, and epoll_wait() looks into its ring.
// 2. Before a thread sleeps in a set it arms the hot connections and looks once more.
// 3. While a thread sleeps in a set, no connection of it becomes hot, because the bell must wake that thread.
//    A connection that is added with bytes and no bell is hot, and the waker (set_waker.h) wakes the sleeper.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/epoll.h>

#include <cstdint>

namespace exs::sockets {

// `number` comes from epoll_create().
void note_epoll_set(int number) noexcept;
// Other processes wait for this set, too.
void note_inherited_epoll_set(int number) noexcept;
void forget_epoll_set(int number) noexcept;
bool has_epoll_sets() noexcept;
// The set has a second number, or is in another set, so the layer does not see all its waiters.
void share_epoll_set(int number) noexcept;
// Another process is about to get the sets for which `kept` returns true. The layer will not see its waits.
void share_epoll_sets_that(bool (*kept)(int number)) noexcept;

// A connection in the set has bytes without a bell. This serves waiters for the set itself.
bool set_has_bytes(int number) noexcept;

// The kernel has already changed its set.
void note_registration(int set, int operation, int number, const epoll_event* event) noexcept;
// The process has no number of the connection left.
void drop_registrations(std::uint32_t slot) noexcept;

// Waits look at the connection from now on.
void make_hot(std::uint32_t slot) noexcept;

// The program's call as the kernel serves it: without waiting, or with its time limit.
struct KernelWait {
  using Call = int (*)(const void* context, epoll_event* events, int max);
  const void* context;
  Call now;
  Call sleep;
};
// Returns what epoll_wait() does, or kAskKernel for a set that the layer does not know.
inline constexpr int kAskKernel = -2;
int wait_in_set(int set, epoll_event* events, int max, bool may_sleep, const KernelWait& kernel) noexcept;

}  // namespace exs::sockets
