// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/waits/set_waker.h"

#include <sys/eventfd.h>

#include <atomic>

#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/hidden.h"

namespace exs::sockets {
namespace {

// One waker serves all sets; forked children share it. Its address is the data of its events.
std::atomic<int> waker{-1};

int waker_number() noexcept {
  int number = waker.load();
  if (number >= 0) return number;
  const long made = raw::sys(SYS_eventfd2, 1, EFD_CLOEXEC | EFD_NONBLOCK);
  if (made < 0) return -1;
  const int own = hide(static_cast<int>(made));
  if (waker.compare_exchange_strong(number, own)) return own;
  close_hidden(own);
  return number;
}

bool is_waker(const epoll_event& event) noexcept {
  return event.data.ptr == &waker;
}

}  // namespace

void put_waker_into(int set) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.ptr = &waker;
  if (const int number = waker_number(); number >= 0)
    raw::sys(SYS_epoll_ctl, set, EPOLL_CTL_ADD, number, &event);
}

void take_waker_from(int set) noexcept {
  raw::sys(SYS_epoll_ctl, set, EPOLL_CTL_DEL, waker.load(), nullptr);
}

int without_waker(int set, epoll_event* events, int count) noexcept {
  for (int i = 0; i < count; ++i) {
    if (!is_waker(events[i])) continue;
    take_waker_from(set);
    for (int next = i + 1; next < count; ++next) events[next - 1] = events[next];
    return count - 1;
  }
  return count;
}

}  // namespace exs::sockets
