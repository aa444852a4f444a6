// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/waits/set_events.h"

#include <poll.h>

#include <algorithm>

#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/looking.h"
#include "sockets/preload/waits/set_waker.h"
#include "sockets/preload/waits/told_order.h"

namespace exs::sockets {
namespace {

bool takes_bytes(const Registration& registration) noexcept {
  if (sends_by_ring(slot_at(registration.slot))) return has_room(registration.slot);
  pollfd entry{registration.number, POLLOUT, 0};
  const timespec now{};
  return raw::sys(SYS_ppoll, &entry, 1, &now, nullptr, 0) > 0 && (entry.revents & POLLOUT) != 0;
}

// The events that the program wants and the ring has. The kernel reports edges of room; any edge includes all
// ready events.
std::uint32_t ready_events(Registration& registration) noexcept {
  const std::uint32_t wanted = registration.events;
  const bool edges = (wanted & EPOLLET) != 0;
  std::uint32_t ready = 0;
  if ((wanted & EPOLLOUT) != 0 && !edges && has_room(registration.slot))
    ready |= wanted & (EPOLLOUT | EPOLLWRNORM);
  if ((wanted & EPOLLIN) == 0 || !has_bytes(registration.slot)) return ready;
  if (edges) {
    const std::uint64_t written = bytes_written(registration.slot);
    if (written == registration.reported) return ready;
    registration.reported = written;
    if ((wanted & EPOLLOUT) != 0 && takes_bytes(registration)) ready |= wanted & (EPOLLOUT | EPOLLWRNORM);
  }
  return ready | (wanted & (EPOLLIN | EPOLLRDNORM));
}

// A one-shot registration was reported: it waits for the program's next epoll_ctl().
void note_told(Registration& registration) noexcept {
  if ((registration.events & EPOLLONESHOT) != 0) registration.events = EPOLLONESHOT;
}

// Another process with the set may have removed the connection. The probe changes nothing if it is still
// there.
bool is_in_kernels_set(int set_number, const Registration& registration) noexcept {
  epoll_event none{};
  if (raw::sys(SYS_epoll_ctl, set_number, EPOLL_CTL_ADD, registration.number, &none) != 0) return true;
  raw::sys(SYS_epoll_ctl, set_number, EPOLL_CTL_DEL, registration.number, &none);
  return false;
}

// The time since which it has events, in nanoseconds, as far as known. 0: it has none.
std::uint64_t ready_since(const Registration& registration) noexcept {
  const std::uint32_t wanted = registration.events;
  const bool edges = (wanted & EPOLLET) != 0;
  if ((wanted & EPOLLIN) != 0 && has_bytes(registration.slot) &&
      !(edges && bytes_written(registration.slot) == registration.reported))
    return std::max<std::uint64_t>(filled_ns(registration.slot), 1);
  return (wanted & EPOLLOUT) != 0 && !edges && has_room(registration.slot) ? 1 : 0;
}

// The bell belongs to bytes that were received before it came, because the peer was about to ring it. The
// event is undone then.
bool tells_of_bell_alone(std::uint32_t set, int set_number, epoll_event& event) noexcept
    EXS_REQUIRES(g_table_mutex) {
  constexpr std::uint32_t kBytes = EPOLLIN | EPOLLRDNORM;
  if ((event.events & kBytes) == 0) return false;
  Registration found{};
  int matches = 0;
  each_of_event(set, event, [&](const Registration& registration) {
    found = registration;
    ++matches;
  });
  if (matches != 1 || !has_bell_alone(found.slot) || is_readable(number_of(found), found.slot)) return false;
  event.events &= ~kBytes;
  if (event.events != 0) return false;
  if ((found.events & EPOLLONESHOT) != 0) {
    epoll_event again{found.events, found.data};
    raw::sys(SYS_epoll_ctl, set_number, EPOLL_CTL_MOD, found.number, &again);
  }
  return true;
}

// A one-shot registration was reported. Adds an error that the layer knows of and the program does not.
void note_event(std::uint32_t set, epoll_event& event) noexcept EXS_REQUIRES(g_table_mutex) {
  const bool is_end = (event.events & (EPOLLHUP | EPOLLERR)) == EPOLLHUP;
  each_of_event(set, event, [&](Registration& registration) {
    note_told(registration);
    if (is_end && kept_error(slot_at(registration.slot)) != 0) event.events |= EPOLLERR;
  });
}

}  // namespace

int number_of(const Registration& registration) noexcept {
  if (slot_of(registration.number) == registration.slot) return registration.number;
  for (int number = 0; number < numbers_known(); ++number)
    if (slot_of(number) == registration.slot) return number;
  return registration.number;
}

int collect_events(Set& set, int number, epoll_event* events, int max) noexcept {
  const SetsLock lock;
  queue_ready(set, ready_since);
  int count = 0;
  for (std::uint32_t left = set.ready; left > 0 && count < max; --left) {
    const std::uint32_t at = take_ready(set);
    Registration& registration = g_registrations[at];
    const std::uint32_t ready = ready_events(registration);
    if (ready == 0) continue;
    if (set.has_strangers.load() && !is_in_kernels_set(number, registration)) {
      remove_registration(registration.slot, at);
      continue;
    }
    events[count++] = {ready, registration.data};
    registration.is_told_again = registration.was_told;
    registration.was_told = true;
    if ((registration.events & EPOLLONESHOT) == 0) {
      put_ready(set, at);
      continue;
    }
    note_told(registration);
    epoll_event told{EPOLLONESHOT, registration.data};
    raw::sys(SYS_epoll_ctl, number, EPOLL_CTL_MOD, registration.number, &told);
  }
  return count;
}

int adapt_events(std::uint32_t set, int number, epoll_event* events, int count, int max) noexcept {
  if (count <= 0) {
    if (max != 0) forget_told(g_sets[set]);
    return count;
  }
  const int told = without_waker(number, events, count);
  const SetsLock lock;
  int left = 0;
  for (int i = 0; i < told; ++i) {
    if (tells_of_bell_alone(set, number, events[i])) continue;
    note_event(set, events[i]);
    events[left++] = events[i];
  }
  if (max != 0) remember_told(set, events, left, max);
  return left;
}

}  // namespace exs::sockets
