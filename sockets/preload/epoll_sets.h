// The epoll sets of this process, as far as our epoll_ctl has seen them: which connections are in which, and with what data.
// The kernel's sets are what they are without the layer; these here are looked at before the kernel is asked. Thread: any.
//
// Design notes
// 1. A connection that is read while it may be looked at becomes hot in all its sets: its peer rings no bell from then on, and
//    epoll_wait() looks into its ring.
// 2. Before a thread sleeps in a set it arms the hot ones again, and looks once more.
// 3. While a thread sleeps in a set nobody makes its connections hot: the bell has to wake that thread. One that comes into the set
//    with bytes that no bell told of is hot, and the waker (set_waker.h) wakes who sleeps.
#pragma once

#include <sys/epoll.h>

#include <cstdint>

namespace exs::sockets {

// A number that epoll_create() gave.
void note_epoll_set(int number) noexcept;
// One that other processes wait for, too.
void note_inherited_epoll_set(int number) noexcept;
void forget_epoll_set(int number) noexcept;
bool has_epoll_sets() noexcept;
// It has a second number, or is in another set: who waits for it is not seen any more.
void share_epoll_set(int number) noexcept;
// Another process is about to have them, too, which waits for them as it likes: those that it keeps.
void share_epoll_sets_that(bool (*kept)(int number)) noexcept;

// For who waits for the set itself: a connection in it has bytes that no bell told of.
bool set_has_bytes(int number) noexcept;

// After the kernel has done it.
void note_registration(int set, int operation, int number, const epoll_event* event) noexcept;
// The process has no number of the connection any more.
void drop_registrations(std::uint32_t slot) noexcept;

// Nobody sleeps in a set that the connection is in, and all of these are looked at.
bool sets_are_awake(std::uint32_t slot) noexcept;
bool is_in_sets(std::uint32_t slot) noexcept;
// The connection is looked at from now on.
void make_hot(std::uint32_t slot) noexcept;

// The program's call, as the kernel answers it: at once, or when it is time.
struct KernelWait {
  using Call = int (*)(const void* context, epoll_event* events, int max);
  const void* context;
  Call now;
  Call sleep;
};
// epoll_wait(): what it returns, or kAskKernel: it is no set that we know.
inline constexpr int kAskKernel = -2;
int wait_in_set(int set, epoll_event* events, int max, bool may_sleep, const KernelWait& kernel) noexcept;

}  // namespace exs::sockets
