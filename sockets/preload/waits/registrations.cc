// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/waits/registrations.h"

#include "base/check.h"

namespace exs::sockets {

constinit Chunks<Registration, kRegistrations, kRegistrationsPerChunk> g_registrations;
constinit Set g_sets[kSets] = {};

namespace {

constexpr std::uint32_t kBuckets = 65536;
constinit std::uint32_t buckets[kBuckets] = {};  // registrations by set and data
std::uint32_t used = 1;
std::uint32_t first_free = 0;

std::uint32_t take() noexcept {
  if (first_free != 0) {
    const std::uint32_t index = first_free;
    first_free = g_registrations[index].next_of_slot;
    return index;
  }
  if (used == kRegistrations || g_registrations.make(used) == nullptr) return 0;
  return used++;
}

std::uint32_t& bucket_of(std::uint32_t set, epoll_data_t data) noexcept {
  constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;
  constexpr unsigned kShift = 48;
  return buckets[((data.u64 ^ set) * kMix) >> kShift];
}

void put_into_bucket(std::uint32_t index) noexcept {
  std::uint32_t& first = bucket_of(g_registrations[index].set, g_registrations[index].data);
  g_registrations[index].next_of_bucket = first;
  first = index;
}

void take_from_bucket(std::uint32_t index) noexcept {
  std::uint32_t* at = &bucket_of(g_registrations[index].set, g_registrations[index].data);
  while (*at != 0 && *at != index) at = &g_registrations[*at].next_of_bucket;
  if (*at == index) *at = g_registrations[index].next_of_bucket;
}

void take_from_ready(Set& set, std::uint32_t index) noexcept EXS_REQUIRES(g_table_mutex) {
  if (!g_registrations[index].is_queued) return;
  for (std::uint32_t left = set.ready; left > 0; --left)
    if (const std::uint32_t at = take_ready(set); at != index) put_ready(set, at);
}

// Merges two sorted lists. At equal times those of `a` come first.
std::uint32_t merged(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t first = 0;
  std::uint32_t* end = &first;
  while (a != 0 && b != 0) {
    std::uint32_t& from = g_registrations[b].since_ns < g_registrations[a].since_ns ? b : a;
    *end = from;
    end = &g_registrations[from].next_ready;
    from = *end;
  }
  *end = a != 0 ? a : b;
  return first;
}

}  // namespace

std::uint32_t sorted_by_time(std::uint32_t first) noexcept {
  constexpr unsigned kLists = 17;  // one for each power of two up to 65536
  std::uint32_t sorted[kLists] = {};
  while (first != 0) {
    std::uint32_t one = first;
    first = g_registrations[one].next_ready;
    g_registrations[one].next_ready = 0;
    unsigned at = 0;
    for (; at < kLists - 1 && sorted[at] != 0; ++at) {
      one = merged(sorted[at], one);
      sorted[at] = 0;
    }
    sorted[at] = merged(sorted[at], one);
  }
  std::uint32_t all = 0;
  for (const std::uint32_t list : sorted) all = merged(list, all);
  return all;
}

// Debug builds alone check the lists: a signal handler of the holder may find a step of them half done.
std::uint32_t take_ready(Set& set) noexcept {
  const std::uint32_t index = set.first_ready;
  if (index == 0) return 0;
  EXS_DEBUG_CHECK(set.ready > 0 && g_registrations[index].is_queued);
  set.first_ready = g_registrations[index].next_ready;
  if (set.first_ready == 0) set.last_ready = 0;
  --set.ready;
  g_registrations[index].is_queued = false;
  return index;
}

void put_ready(Set& set, std::uint32_t index) noexcept {
  Registration& registration = g_registrations[index];
  EXS_DEBUG_CHECK(!registration.is_queued);
  registration.is_queued = true;
  registration.next_ready = 0;
  if (set.last_ready == 0) {
    set.first_ready = index;
  } else {
    g_registrations[set.last_ready].next_ready = index;
  }
  set.last_ready = index;
  ++set.ready;
}

std::uint32_t bucket_begin(std::uint32_t set, epoll_data_t data) noexcept {
  return bucket_of(set, data);
}

void cool(std::uint32_t index) noexcept {
  Registration& cold = g_registrations[index];
  if (!cold.is_hot) return;
  cold.is_hot = false;
  Set& set = g_sets[cold.set];
  take_from_ready(set, index);
  if (set.hot.load() == index) return set.hot.store(cold.next_hot);
  for (std::uint32_t at = set.hot.load(); at != 0; at = g_registrations[at].next_hot)
    if (g_registrations[at].next_hot == index) {
      g_registrations[at].next_hot = cold.next_hot;
      return;
    }
}

void heat(std::uint32_t index) noexcept {
  Registration& registration = g_registrations[index];
  if (registration.is_hot) return;
  registration.is_hot = true;
  registration.next_hot = g_sets[registration.set].hot.load();
  g_sets[registration.set].hot.store(index);
}

std::uint32_t add_registration(std::uint32_t slot, std::uint32_t set, int number,
                               epoll_data_t data) noexcept {
  const std::uint32_t index = take();
  if (index == 0) return 0;
  Registration& made = g_registrations[index] = {};
  made.number = number;
  made.slot = slot;
  made.set = set;
  made.next_of_slot = share_of(slot).registrations.load();
  made.is_used = true;
  made.data = data;
  put_into_bucket(index);
  share_of(slot).registrations.store(index);
  return index;
}

std::uint32_t find_registration(std::uint32_t slot, std::uint32_t set, int number) noexcept {
  for (std::uint32_t at = share_of(slot).registrations.load(); at != 0; at = g_registrations[at].next_of_slot)
    if (g_registrations[at].set == set && g_registrations[at].number == number) return at;
  return 0;
}

void remove_registration(std::uint32_t slot, std::uint32_t index) noexcept {
  auto& first = share_of(slot).registrations;
  if (first.load() == index) {
    first.store(g_registrations[index].next_of_slot);
  } else {
    for (std::uint32_t at = first.load(); at != 0; at = g_registrations[at].next_of_slot)
      if (g_registrations[at].next_of_slot == index)
        g_registrations[at].next_of_slot = g_registrations[index].next_of_slot;
  }
  EXS_DEBUG_CHECK(g_registrations[index].is_used);
  cool(index);
  take_from_bucket(index);
  g_registrations[index].is_used = false;
  g_registrations[index].next_of_slot = first_free;
  first_free = index;
}

void remove_registrations_of_set(std::uint32_t set) noexcept {
  for (std::uint32_t i = 1; i < used; ++i)
    if (g_registrations[i].is_used && g_registrations[i].set == set)
      remove_registration(g_registrations[i].slot, i);
}

void change_data(std::uint32_t index, epoll_data_t data) noexcept {
  take_from_bucket(index);
  g_registrations[index].data = data;
  put_into_bucket(index);
}

bool is_in_sets(std::uint32_t slot) noexcept {
  return share_of(slot).registrations.load(std::memory_order_relaxed) != 0;
}

bool sets_are_awake(std::uint32_t slot) noexcept {
  for (std::uint32_t at = share_of(slot).registrations.load(); at != 0;
       at = g_registrations[at].next_of_slot) {
    const Set& set = g_sets[g_registrations[at].set];
    if (set.sleepers.load() != 0 || set.shared.load()) return false;
  }
  return true;
}

}  // namespace exs::sockets
