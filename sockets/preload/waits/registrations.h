// The table behind epoll_sets.h: which connections are in which sets of this process, with what data, and
// which are hot. Thread: holder of the table's lock (SetsLock), except for atomics.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <cstdint>

#include "base/annotations.h"
#include "sockets/preload/kernel/chunks.h"
#include "sockets/preload/table/patience.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {

inline constexpr std::uint32_t kSets = 4096;
inline constexpr std::uint32_t kRegistrations = 65536;
inline constexpr std::uint32_t kRegistrationsPerChunk = 256;
inline constexpr std::uint32_t kTold = 16;

struct Registration {
  // The number of its registration. The connection may live on under another number.
  int number;
  std::uint32_t slot;
  std::uint32_t set;
  std::uint32_t events;
  epoll_data_t data;
  std::uint64_t reported;  // bytes_written() at the last report, for edges
  std::uint64_t received;  // bytes_received() at the last sleep of the set
  std::uint64_t since_ns;  // ready since this time
  std::uint32_t idle;      // sleeps since it last had bytes
  std::uint32_t next_of_slot;
  std::uint32_t next_of_bucket;
  std::uint32_t next_hot;  // 0: this is the last one
  std::uint32_t next_ready;
  bool is_hot;
  bool is_queued;      // in the set's ready list
  bool was_told;       // reported while in the ready list
  bool is_told_again;  // reported by the last wait and by an earlier one
  bool is_used;
};
// [0] is unused.
extern constinit Chunks<Registration, kRegistrations, kRegistrationsPerChunk> g_registrations;

struct Set {
  std::atomic<bool> used;
  std::atomic<bool> shared;
  std::atomic<bool> has_strangers;  // a process that does not know our waker may sleep in it
  std::atomic<bool> has_waker;
  std::atomic<std::uint32_t> sleepers;
  std::atomic<std::uint32_t> hot;  // the first hot one
  // The ready list, in the kernel's order: by the time of getting ready, or of the last report.
  std::uint32_t first_ready;
  std::uint32_t last_ready;
  std::uint32_t ready;  // their number
  Patience patience;
  std::uint64_t asked_ns;  // time of the kernel's last turn
  std::uint32_t calls;     // waits since then
  bool is_our_turn;        // the kernel's events took all the room
  // The data of the events that the last wait reported, in order (told_order.h). Empty if the kernel reported
  // none.
  std::uint64_t told[kTold];
  std::atomic<std::uint32_t> tolds;
  bool is_order_ours;  // the kernel may have another order
};
extern constinit Set g_sets[kSets];

// Guards registrations and their lists. It is the table's lock because numbers change with them.
using SetsLock = TableLock;

// 0: the table is full.
std::uint32_t add_registration(std::uint32_t slot, std::uint32_t set, int number, epoll_data_t data) noexcept
    EXS_REQUIRES(g_table_mutex);
std::uint32_t find_registration(std::uint32_t slot, std::uint32_t set, int number) noexcept
    EXS_REQUIRES(g_table_mutex);
void remove_registration(std::uint32_t slot, std::uint32_t index) noexcept EXS_REQUIRES(g_table_mutex);
void remove_registrations_of_set(std::uint32_t set) noexcept EXS_REQUIRES(g_table_mutex);
void change_data(std::uint32_t index, epoll_data_t data) noexcept EXS_REQUIRES(g_table_mutex);

void heat(std::uint32_t index) noexcept EXS_REQUIRES(g_table_mutex);
void cool(std::uint32_t index) noexcept EXS_REQUIRES(g_table_mutex);

// Appends the hot ones that are newly ready, sorted by time. `is_ready(registration)` returns the time in
// nanoseconds; 0: not ready.
template <typename IsReady>
void queue_ready(Set& set, const IsReady& is_ready) noexcept EXS_REQUIRES(g_table_mutex);
// Removes and returns the first ready one; 0: none.
std::uint32_t take_ready(Set& set) noexcept EXS_REQUIRES(g_table_mutex);
void put_ready(Set& set, std::uint32_t index) noexcept EXS_REQUIRES(g_table_mutex);

std::uint32_t bucket_begin(std::uint32_t set, epoll_data_t data) noexcept EXS_REQUIRES(g_table_mutex);
// Visits the registrations that may belong to the kernel's event. Programs may give several the same data.
template <typename Use>
void each_of_event(std::uint32_t set, const epoll_event& event, const Use& use) noexcept
    EXS_REQUIRES(g_table_mutex) {
  for (std::uint32_t at = bucket_begin(set, event.data); at != 0; at = g_registrations[at].next_of_bucket)
    if (g_registrations[at].set == set && g_registrations[at].data.u64 == event.data.u64)
      use(g_registrations[at]);
}

// --- questions of any thread, without the lock ---
// No thread sleeps in a set with this connection, and the layer sees all waiters of these sets.
bool sets_are_awake(std::uint32_t slot) noexcept;
bool is_in_sets(std::uint32_t slot) noexcept;

// Sorts a list by since_ns, linked by next_ready. Returns the first.
std::uint32_t sorted_by_time(std::uint32_t first) noexcept EXS_REQUIRES(g_table_mutex);

template <typename IsReady>
void queue_ready(Set& set, const IsReady& is_ready) noexcept EXS_REQUIRES(g_table_mutex) {
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
