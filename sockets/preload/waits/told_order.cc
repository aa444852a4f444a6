// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/waits/told_order.h"

#include <algorithm>
#include <utility>

#include "sockets/preload/waits/looking.h"

namespace exs::sockets {
namespace {

constexpr int kMany = 64;  // an order of so many events cannot be observed

// The time since which the event's connection is ready, as far as its ring tells.
std::uint64_t since(std::uint32_t set, const epoll_event& event) noexcept EXS_REQUIRES(g_table_mutex) {
  std::uint64_t ns = 0;
  each_of_event(set, event, [&](const Registration& registration) {
    ns = registration.is_queued ? registration.since_ns : filled_ns(registration.slot);
  });
  return ns;
}

// Moves those of the kernel's `told` events that a bell caused to their place by time.
void put_in_order_of_time(std::uint32_t set, epoll_event* events, int told, int count) noexcept
    EXS_REQUIRES(g_table_mutex) {
  for (int i = told; i < count; ++i)
    for (int at = i; at > 0 && since(set, events[at - 1]) > since(set, events[at]) && at > i - told; --at)
      std::swap(events[at - 1], events[at]);
}

// The event's place in the last wait. kTold: only rings reported it then, so it comes behind the others.
// kNew: it was not reported.
constexpr std::uint32_t kNew = kTold + 1;
std::uint32_t place_of_last_time(std::uint32_t set, const epoll_event& event) noexcept
    EXS_REQUIRES(g_table_mutex) {
  const Set& all = g_sets[set];
  const std::uint64_t* const end = all.told + all.tolds.load();
  const std::uint64_t* const found = std::find(all.told, end, event.data.u64);
  if (found != end) return static_cast<std::uint32_t>(found - all.told);
  bool is_told_again = false;
  each_of_event(set, event, [&](const Registration& registration) {
    is_told_again = is_told_again || (registration.is_queued && registration.is_told_again);
  });
  return is_told_again ? kTold : kNew;
}

// Puts the events of the last wait first, in their old order; the others keep theirs.
void put_last_ones_first(std::uint32_t set, epoll_event* events, int count) noexcept
    EXS_REQUIRES(g_table_mutex) {
  std::uint32_t places[kMany];
  for (int i = 0; i < count; ++i) {
    const epoll_event event = events[i];
    const std::uint32_t place = place_of_last_time(set, event);
    int at = i;
    for (; at > 0 && places[at - 1] > place; --at) {
      places[at] = places[at - 1];
      events[at] = events[at - 1];
    }
    places[at] = place;
    events[at] = event;
  }
}

// The program cannot know that only our rings were asked, so events of the kernel keep their places.
void remember_ours(std::uint32_t set, const epoll_event* events, int count) noexcept
    EXS_REQUIRES(g_table_mutex) {
  Set& all = g_sets[set];
  const auto is_told_now = [&](std::uint64_t data) {
    return std::any_of(events, events + count,
                       [&](const epoll_event& event) { return event.data.u64 == data; });
  };
  const auto is_over = [&](std::uint64_t data) EXS_REQUIRES(g_table_mutex) {
    bool is_ours = false;
    epoll_event event{};
    event.data.u64 = data;
    each_of_event(set, event,
                  [&](const Registration& registration) { is_ours = is_ours || registration.is_hot; });
    return is_ours && !is_told_now(data);
  };
  std::uint64_t* end = std::remove_if(all.told, all.told + all.tolds.load(), is_over);
  for (int i = 0; i < count && end < all.told + kTold; ++i)
    if (std::find(all.told, end, events[i].data.u64) == end) *end++ = events[i].data.u64;
  all.tolds.store(static_cast<std::uint32_t>(end - all.told));
}

// The kernel's event says only that this connection has bytes. 0: it says more, or only the kernel can keep
// its rules.
std::uint32_t told_of_bytes(std::uint32_t set, const epoll_event& event) noexcept
    EXS_REQUIRES(g_table_mutex) {
  constexpr std::uint32_t kBytes = EPOLLIN | EPOLLRDNORM;
  constexpr std::uint32_t kKernels = EPOLLET | EPOLLONESHOT | EPOLLEXCLUSIVE;
  if ((event.events & ~kBytes) != 0) return 0;
  const Registration* found = nullptr;
  int matches = 0;
  each_of_event(set, event, [&](const Registration& registration) {
    ++matches;
    if ((registration.events & kKernels) == 0) found = &registration;
  });
  return matches == 1 && found != nullptr ? find_registration(found->slot, set, found->number) : 0;
}

bool looks_and_has_bytes(std::uint32_t at) noexcept EXS_REQUIRES(g_table_mutex) {
  const Registration& registration = g_registrations[at];
  const std::uint32_t slot = registration.slot;
  if (!is_looking(slot) && !start_looking(registration.number, slot)) return false;
  // Its peer rings for none of its sets from now on.
  for (std::uint32_t of = share_of(slot).registrations.load(); of != 0; of = g_registrations[of].next_of_slot)
    heat(of);
  return has_bytes(slot);
}

}  // namespace

int without_bells(std::uint32_t set, const epoll_event* events, int told) noexcept {
  if (told == 0) return 0;
  const SetsLock lock;
  for (int i = 0; i < told; ++i)
    if (told_of_bytes(set, events[i]) == 0) return told;
  bool all = true;
  for (int i = 0; i < told; ++i) all = looks_and_has_bytes(told_of_bytes(set, events[i])) && all;
  return all ? 0 : told;
}

void forget_told(Set& set) noexcept {
  if (set.tolds.load(std::memory_order_relaxed) != 0) set.tolds.store(0);
}

void remember_told(std::uint32_t set, epoll_event* events, int count, int max) noexcept {
  Set& all = g_sets[set];
  all.is_order_ours = all.is_order_ours && all.tolds.load() != 0;
  if (all.is_order_ours && count <= kMany) put_last_ones_first(set, events, count);
  // When the room is too small, the events that were left out come first next time.
  std::uint32_t tolds = 0;
  for (int i = 0; count < max && i < count && tolds < kTold; ++i) all.told[tolds++] = events[i].data.u64;
  all.tolds.store(tolds);
}

void put_in_order(std::uint32_t set, bool asked, epoll_event* events, int told, int ours, int count,
                  int max) noexcept {
  Set& all = g_sets[set];
  // Events of rings alone have their own order.
  if (count == 0 || (told == 0 && all.tolds.load(std::memory_order_relaxed) == 0)) return;
  const SetsLock lock;
  if (told > 0 && ours > 0 && count <= kMany) {
    put_in_order_of_time(set, events, told, count);
    put_last_ones_first(set, events, count);
    all.is_order_ours = true;
  }
  if (!asked && count < max) return remember_ours(set, events, count);
  remember_told(set, events, told > 0 ? count : 0, max);
}

}  // namespace exs::sockets
