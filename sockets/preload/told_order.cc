#include "sockets/preload/told_order.h"

#include <algorithm>
#include <utility>

#include "sockets/preload/looking.h"

namespace exs::sockets {
namespace {

constexpr int kMany = 64;  // of so many no order can be seen

// Since when the event's connection has what it tells of, as far as its ring says.
std::uint64_t since(std::uint32_t set, const epoll_event& event) noexcept {
  std::uint64_t ns = 0;
  each_of_event(set, event, [&](const Registration& registration) {
    ns = registration.is_queued ? registration.since_ns : filled_ns(registration.slot);
  });
  return ns;
}

// Those of `told` events of the kernel's that a bell told of come where the `count` events have them by time.
void put_in_order_of_time(std::uint32_t set, epoll_event* events, int told, int count) noexcept {
  for (int i = told; i < count; ++i)
    for (int at = i; at > 0 && since(set, events[at - 1]) > since(set, events[at]) && at > i - told; --at)
      std::swap(events[at - 1], events[at]);
}

// Its place among those of last time. kTold: behind them, as rings alone told then, and this is one; kNew: it was not told.
constexpr std::uint32_t kNew = kTold + 1;
std::uint32_t place_of_last_time(std::uint32_t set, const epoll_event& event) noexcept {
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

// Those of last time come first, as they were; the others stay as they are.
void put_last_ones_first(std::uint32_t set, epoll_event* events, int count) noexcept {
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

// Our rings alone were asked, which the program cannot know: what the kernel told last time keeps its place.
void remember_ours(std::uint32_t set, const epoll_event* events, int count) noexcept {
  Set& all = g_sets[set];
  const auto is_told_now = [&](std::uint64_t data) {
    return std::any_of(events, events + count,
                       [&](const epoll_event& event) { return event.data.u64 == data; });
  };
  const auto is_over = [&](std::uint64_t data) {
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

}  // namespace

void forget_told(Set& set) noexcept {
  if (set.tolds.load(std::memory_order_relaxed) != 0) set.tolds.store(0);
}

void remember_told(std::uint32_t set, epoll_event* events, int count, int max) noexcept {
  Set& all = g_sets[set];
  all.is_order_ours = all.is_order_ours && all.tolds.load() != 0;
  if (all.is_order_ours && count <= kMany) put_last_ones_first(set, events, count);
  // Without room for all, those that were left out come before these.
  std::uint32_t tolds = 0;
  for (int i = 0; count < max && i < count && tolds < kTold; ++i) all.told[tolds++] = events[i].data.u64;
  all.tolds.store(tolds);
}

void put_in_order(std::uint32_t set, bool asked, epoll_event* events, int told, int ours, int count,
                  int max) noexcept {
  Set& all = g_sets[set];
  // Rings alone have their own order.
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
