// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/waits/epoll_sets.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/looking.h"
#include "sockets/preload/waits/registrations.h"
#include "sockets/preload/waits/set_events.h"
#include "sockets/preload/waits/set_waker.h"
#include "sockets/preload/waits/told_order.h"

namespace exs::sockets {
namespace {

constexpr std::uint64_t kAskKernelNs = 50'000;     // while our connections have bytes
constexpr std::uint64_t kAskKernelIdleNs = 5'000;  // while waits look at them and they have none
constexpr std::uint32_t kAskKernelCalls = 8;
constexpr std::uint32_t kIdleSleepsMax = 8;

std::atomic<std::uint32_t> sets_used{0};

std::uint32_t index_of(int number) noexcept {
  const std::uint32_t entry = entry_of(number);
  return (entry & kEpollBit) != 0 ? entry & ~kBits : kSets;
}

bool is_time_for_kernel(Set& set, std::uint64_t every_ns) noexcept {
  const std::uint64_t now = monotonic_ns();
  if (set.calls < kAskKernelCalls && now - set.asked_ns < every_ns) return false;
  set.calls = 0;
  set.asked_ns = now;
  return true;
}

// The kernel's events come first: busy connections could otherwise fill all the room and hide the others. Two
// events of one connection become one.
int look(std::uint32_t set, int number, epoll_event* events, int max, std::uint64_t ask_kernel_ns,
         const KernelWait& kernel) noexcept {
  const bool asks =
      !std::exchange(g_sets[set].is_our_turn, false) && is_time_for_kernel(g_sets[set], ask_kernel_ns);
  int told =
      asks ? std::max(adapt_events(set, number, events, kernel.now(kernel.context, events, max), 0), 0) : 0;
  told = without_bells(set, events, told);
  g_sets[set].is_our_turn = told == max;
  const int ours = told < max ? collect_events(g_sets[set], number, events + told, max - told) : 0;
  int count = told;
  for (int i = told; i < told + ours; ++i) {
    int same = 0;
    while (same < told && events[same].data.u64 != events[i].data.u64) ++same;
    if (same < told) {
      events[same].events |= events[i].events;
    } else {
      events[count++] = events[i];
    }
  }
  put_in_order(set, asks, events, told, ours, count, max);
  return count;
}

int look_for_a_while(std::uint32_t set, int number, epoll_event* events, int max,
                     const KernelWait& kernel) noexcept {
  Patience& patience = g_sets[set].patience;
  const std::uint32_t ns = looking_ns(patience, settings());
  if (ns == 0) return 0;
  const SpinLimit limit(ns);
  do {
    const int found = look(set, number, events, max, kAskKernelIdleNs, kernel);
    if (found != 0) {
      patience.found();
      return found;
    }
  } while (limit.goes_on());
  patience.missed();
  return 0;
}

void share_with_strangers(Set& set) noexcept {
  set.shared.store(true);
  set.has_strangers.store(true);
}

// Before a sleep: the connection has had no bytes for some sleeps, so none are likely soon.
bool has_cooled(Registration& registration) noexcept {
  const std::uint64_t received = bytes_received(registration.slot);
  registration.idle = received == registration.received ? registration.idle + 1 : 0;
  registration.received = received;
  return registration.idle > kIdleSleepsMax;
}

// Makes the peers ring from now on. False: a connection has bytes.
bool arm_hot_ones(Set& set) noexcept {
  const SetsLock lock;
  bool all = true;
  for (std::uint32_t at = set.hot.load(); at != 0;) {
    Registration& registration = g_registrations[at];
    const std::uint32_t next = registration.next_hot;
    if (stop_looking(number_of(registration), registration.slot)) {
      if (!is_looking(registration.slot) && has_cooled(registration)) cool(at);
    } else if ((registration.events & EPOLLIN) != 0) {
      all = false;
    }
    at = next;
  }
  return all;
}

// After a sleep: one connection got a bell, and the others are likely to get bytes, too. No peer needs to
// ring for them.
void look_at_hot_ones(Set& set) noexcept {
  const SetsLock lock;
  for (std::uint32_t at = set.hot.load(); at != 0;) {
    const Registration& registration = g_registrations[at];
    const std::uint32_t next = registration.next_hot;
    if (!is_looking(registration.slot) && !start_looking(number_of(registration), registration.slot))
      cool(at);
    at = next;
  }
}

}  // namespace

void note_epoll_set(int number) noexcept {
  if (!is_known(number) || !settings().on || is_vfork_child()) return;
  const SetsLock lock;
  for (std::uint32_t i = 0; i < kSets; ++i) {
    if (g_sets[i].used.exchange(true)) continue;
    sets_used.fetch_add(1);
    g_sets[i].shared.store(false);
    g_sets[i].has_strangers.store(false);
    g_sets[i].has_waker.store(false);
    g_sets[i].sleepers.store(0);
    g_sets[i].hot.store(0);
    g_sets[i].first_ready = g_sets[i].last_ready = g_sets[i].ready = 0;
    g_sets[i].tolds.store(0);
    g_sets[i].patience = {};
    set_entry(number, kEpollBit | i);
    return;
  }
}

bool has_epoll_sets() noexcept {
  return sets_used.load(std::memory_order_relaxed) > 0;
}

void note_inherited_epoll_set(int number) noexcept {
  note_epoll_set(number);
  const std::uint32_t set = index_of(number);
  if (set == kSets) return;
  share_with_strangers(g_sets[set]);
}

void forget_epoll_set(int number) noexcept {
  const std::uint32_t set = index_of(number);
  if (set == kSets) return;
  const SetsLock lock;
  take_entry(number);
  remove_registrations_of_set(set);
  g_sets[set].used.store(false);
  sets_used.fetch_sub(1);
}

void share_epoll_set(int number) noexcept {
  const std::uint32_t set = index_of(number);
  if (set == kSets) return;
  g_sets[set].shared.store(true);
  arm_hot_ones(g_sets[set]);
}

void share_epoll_sets_that(bool (*kept)(int number)) noexcept {
  if (is_retired() || sets_used.load() == 0) return;
  for (int number = 0; number < numbers_known(); ++number) {
    const std::uint32_t set = index_of(number);
    if (set == kSets || !kept(number)) continue;
    share_with_strangers(g_sets[set]);
    arm_hot_ones(g_sets[set]);
  }
}

bool set_has_bytes(int number) noexcept {
  const std::uint32_t set = index_of(number);
  if (set == kSets) return false;
  const SetsLock lock;
  for (std::uint32_t at = g_sets[set].hot.load(); at != 0; at = g_registrations[at].next_hot)
    if ((g_registrations[at].events & EPOLLIN) != 0 && has_bytes(g_registrations[at].slot)) return true;
  return false;
}

// Serves a child of vfork, too, because it changes the parent's set. Ownership of numbers is not checked,
// since programs call this often.
void note_registration(int set_number, int operation, int number, const epoll_event* event) noexcept {
  if (is_retired()) return;
  if ((entry_of(number) & kEpollBit) != 0 && operation == EPOLL_CTL_ADD) return share_epoll_set(number);
  const std::uint32_t slot = slot_of(number);
  if (slot == 0) return;
  const std::uint32_t set = index_of(set_number);
  const SetsLock lock;
  std::uint32_t index = set == kSets ? 0 : find_registration(slot, set, number);
  if (operation == EPOLL_CTL_DEL) {
    if (index != 0) remove_registration(slot, index);
    return;
  }
  if (index == 0 && set != kSets) index = add_registration(slot, set, number, event->data);
  // Only the kernel can wake once, or one waiter of many.
  if (index == 0 || (event->events & (EPOLLONESHOT | EPOLLEXCLUSIVE)) != 0)
    slot_at(slot).waits.needs_bells.store(true);
  if ((event->events & EPOLLET) != 0) want_each_bell(number, slot);
  if (index == 0) return;
  g_registrations[index].events = event->events;
  change_data(index, event->data);
  g_registrations[index].reported = 0;
  if (!is_looking(slot)) return;
  const bool is_awake = g_sets[set].sleepers.load() == 0 && !g_sets[set].shared.load();
  if (!is_awake && stop_looking(number, slot)) return;
  heat(index);
  if (is_awake || g_sets[set].has_strangers.load()) return;
  put_waker_into(set_number);
  g_sets[set].has_waker.store(true);
}

void drop_registrations(std::uint32_t slot) noexcept {
  if (share_of(slot).registrations.load() == 0) return;
  const SetsLock lock;
  while (const std::uint32_t first = share_of(slot).registrations.load()) remove_registration(slot, first);
}

void make_hot(std::uint32_t slot) noexcept {
  const SetsLock lock;
  for (std::uint32_t at = share_of(slot).registrations.load(); at != 0; at = g_registrations[at].next_of_slot)
    heat(at);
}

int wait_in_set(int number, epoll_event* events, int max, bool may_sleep, const KernelWait& kernel) noexcept {
  const std::uint32_t index = index_of(number);
  if (index == kSets || max <= 0) return kAskKernel;
  Set& set = g_sets[index];
  for (;;) {
    if (set.has_waker.exchange(false)) take_waker_from(number);
    if (set.hot.load() != 0) {
      ++set.calls;
      int found = look(index, number, events, max, kAskKernelNs, kernel);
      if (found == 0 && !may_sleep)
        return adapt_events(index, number, events, kernel.now(kernel.context, events, max), max);
      if (found == 0) found = look_for_a_while(index, number, events, max, kernel);
      if (found != 0) return found;
    } else if (!may_sleep) {
      return adapt_events(index, number, events, kernel.now(kernel.context, events, max), max);
    }
    set.sleepers.fetch_add(1);
    if (!arm_hot_ones(set)) {
      set.sleepers.fetch_sub(1);
      continue;
    }
    const int told = kernel.sleep(kernel.context, events, max);
    set.sleepers.fetch_sub(1);
    set.asked_ns = monotonic_ns();
    const int result = adapt_events(index, number, events, told, max);
    if (result > 0) look_at_hot_ones(set);
    if (result != 0 || told == 0) return result;
  }
}

}  // namespace exs::sockets
