// The table behind epoll_sets.h: which connections are in which sets of this process, with what data, and which are looked at. Thread:
// holder of the table's lock (SetsLock), but for what is atomic.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>

#include "sockets/preload/chunks.h"
#include "sockets/preload/patience.h"
#include "sockets/preload/table.h"

namespace exs::sockets {

inline constexpr std::uint32_t kSets = 4096;
inline constexpr std::uint32_t kRegistrations = 65536;
inline constexpr std::uint32_t kRegistrationsPerChunk = 256;
inline constexpr std::uint32_t kTold = 16;

struct Registration {
  int number;  // that it was registered by; the connection may have lost it since, and live on by another one
  std::uint32_t slot;
  std::uint32_t set;
  std::uint32_t events;
  epoll_data_t data;
  std::uint64_t reported;  // bytes_written() when it was reported last, for edges
  std::uint64_t received;  // bytes_received() when the set slept last
  std::uint64_t since_ns;  // it is ready since then
  std::uint32_t idle;      // sleeps since it had some last
  std::uint32_t next_of_slot;
  std::uint32_t next_of_bucket;
  std::uint32_t next_hot;  // 0: the last
  std::uint32_t next_ready;
  bool is_hot;
  bool is_queued;      // among the ready ones
  bool was_told;       // since it has been among them
  bool is_told_again;  // by the last wait, and by one before
  bool is_used;
};
extern Chunks<Registration, kRegistrations, kRegistrationsPerChunk> g_registrations;  // [0] is none

struct Set {
  std::atomic<bool> used;
  std::atomic<bool> shared;
  std::atomic<bool> has_strangers;  // a process that knows nothing of our waker sleeps in it, too
  std::atomic<bool> has_waker;
  std::atomic<std::uint32_t> sleepers;
  std::atomic<std::uint32_t> hot;  // the first
  // Those with something to tell, in the order in which they got it, or were told of last, as the kernel has them.
  std::uint32_t first_ready;
  std::uint32_t last_ready;
  std::uint32_t ready;  // how many
  Patience patience;
  std::uint64_t asked_ns;  // when the kernel was asked last
  std::uint32_t calls;     // since
  bool is_our_turn;        // the kernel has had all the room
  // The data of what the last wait told, in its order (told_order.h); none while the kernel has told of nothing.
  std::uint64_t told[kTold];
  std::atomic<std::uint32_t> tolds;
  bool is_order_ours;  // the kernel may have another one
};
extern Set g_sets[kSets];

// Guards registrations and lists of them. The table's lock, because numbers change with them.
using SetsLock = TableLock;

// 0: there is no room for one.
std::uint32_t add_registration(std::uint32_t slot, std::uint32_t set, int number, epoll_data_t data) noexcept;
std::uint32_t find_registration(std::uint32_t slot, std::uint32_t set, int number) noexcept;
void remove_registration(std::uint32_t slot, std::uint32_t index) noexcept;
void remove_registrations_of_set(std::uint32_t set) noexcept;
void change_data(std::uint32_t index, epoll_data_t data) noexcept;

void heat(std::uint32_t index) noexcept;
void cool(std::uint32_t index) noexcept;

// Adds those of the hot ones of which `is_ready(registration)` tells since when, in nanoseconds (0: it is not), in that order.
template <typename IsReady>
void queue_ready(Set& set, const IsReady& is_ready) noexcept;
// The first of the ready ones; 0: none.
std::uint32_t take_ready(Set& set) noexcept;
void put_ready(Set& set, std::uint32_t index) noexcept;

std::uint32_t bucket_begin(std::uint32_t set, epoll_data_t data) noexcept;
// The registrations that the kernel's event may be of: programs may give several the same data.
template <typename Use>
void each_of_event(std::uint32_t set, const epoll_event& event, const Use& use) noexcept {
  for (std::uint32_t at = bucket_begin(set, event.data); at != 0; at = g_registrations[at].next_of_bucket)
    if (g_registrations[at].set == set && g_registrations[at].data.u64 == event.data.u64)
      use(g_registrations[at]);
}

// A list of registrations by next_ready, sorted by since_ns; its first.
std::uint32_t sorted_by_time(std::uint32_t first) noexcept;

template <typename IsReady>
void queue_ready(Set& set, const IsReady& is_ready) noexcept {
  std::uint32_t fresh = 0;
  for (std::uint32_t at = set.hot.load(); at != 0; at = g_registrations[at].next_hot) {
    Registration& registration = g_registrations[at];
    if (registration.is_queued || (registration.since_ns = is_ready(registration)) == 0) continue;
    registration.was_told = false;
    registration.next_ready = fresh;
    fresh = at;
  }
  for (std::uint32_t at = sorted_by_time(fresh); at != 0;) {
    const std::uint32_t next = g_registrations[at].next_ready;
    put_ready(set, at);
    at = next;
  }
}

}  // namespace exs::sockets
