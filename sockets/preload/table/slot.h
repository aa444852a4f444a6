// The state of a connection that processes share by fork. It lies in memory of the family (arena.h), which
// the peer does not see.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sockets/lane/receiver.h"
#include "sockets/lane/sender.h"
#include "sockets/preload/table/patience.h"
#include "sockets/preload/table/shared_lock.h"
#include "sockets/preload/table/slot_states.h"
#include "sockets/settings/why.h"

namespace exs::sockets {

// How far the two ends are on their way to the lane. Thread: any.
struct SlotMeeting {
  std::atomic<bool> is_busy;  // a thread takes a step of the meeting
  // Sends that must arrive at the peer's socket before bytes enter the ring; negative: one did not
  // (arrivals.h).
  std::atomic<std::int8_t> arrivals_left;
  std::atomic<std::uint8_t> watched_sends;
  std::atomic<std::uint32_t> calls;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> since_ns;  // the card or offer was made then
  std::atomic<std::uint64_t> tried_ns;  // the last search for a caller of another host
};

// What the meeting has found out, at the time of its check. Thread: the one that meets, before the lane begins.
struct LaneFacts {
  std::size_t capacity;       // of each ring
  std::uint8_t bell;          // the value of a bell's byte
  bool is_foreign;            // another user owns the peer
  bool was_between;           // the lane led to another host
  pid_t peer;                 // the process that met, if this user owns it; else 0
  std::int32_t peers_number;  // that process's number of its TCP socket
};

// Options that the program believes to be set, while F has other values. Thread: any.
struct ProgramOptions {
  int send_buffer;  // bytes as getsockopt reports them; negative: the kernel's choice; 0: F has its own
  int low_water;    // SO_RCVLOWAT, to be set when receives go to TCP; 0: none
  int linger_on, linger_for;  // SO_LINGER of the program, while `resets`
  bool resets;                // F resets at its end, because unread bytes lie outside F
  bool corked;
  bool nodelay;
  std::atomic<bool> holds_more;    // TCP holds back the last bytes until more follow (MSG_MORE)
  std::atomic<std::uint8_t> shut;  // ways shut down by the program: 1 receiving, 2 sending
};

// The threads that wait for bytes of the connection, and how. Thread: any.
struct SlotWaits {
  std::atomic<std::uint32_t> in_receive;  // receives inside the kernel that may take any byte
  std::atomic<std::uint32_t> sleepers;    // threads asleep in the kernel that a bell has to wake
  std::atomic<bool> needs_bells;          // some waits are invisible to the layer
  std::atomic<bool> wants_each_bell;      // some waits are edge-triggered
  std::atomic<bool> is_blocking;          // the last receive without bytes was a blocking one
  Patience patience;                      // of blocking receives
  // Waiters were notified: the stream has at least this many bytes.
  std::atomic<std::uint64_t> told;
};

// They serve exs-explain. Thread: any.
struct SlotCounters {
  std::atomic<std::uint64_t> ring_sent;
  std::atomic<std::uint64_t> tcp_sent;
  std::atomic<std::uint64_t> bells;
  std::atomic<std::uint64_t> turns;
  std::atomic<std::uint64_t> ring_received;
  std::atomic<std::uint64_t> tcp_received;
  std::atomic<std::uint64_t> sleeps;
  std::atomic<std::uint64_t> looks_found;
  std::atomic<std::uint64_t> looks_missed;
};

// The two directions and the counters have cache lines of their own. Thread: any, unless a lock is named.
struct FamilySlot {  // NOLINT(clang-analyzer-optin.performance.Padding)
  std::atomic<Stage> stage;
  // The thread that enters the lane checks in_receive afterwards. A thread that goes to the kernel instead
  // counts itself in in_receive before it checks the path.
  std::atomic<ReceivePath> receives;
  std::atomic<SlotEnd> end;
  std::atomic<Why> why;
  std::atomic<Why> turned_for;  // cause of the last turn to TCP
  bool is_caller;
  bool locks_made;
  std::atomic<std::uint8_t> rule;         // index in sockets.conf plus one; 0: not looked up yet
  std::atomic<std::uint32_t> generation;  // times that the slot was taken
  std::atomic<std::uint32_t> processes;   // processes with a number for the connection
  std::uint32_t index;                    // the slot's own index
  std::uint64_t inode;                    // of the TCP socket, unique on the host

  LaneFacts lane;
  SlotWaits waits;
  SlotMeeting meeting;
  ProgramOptions options;

  alignas(64) SharedLock sending;  // guards `sender`
  lane::SenderState sender EXS_GUARDED_BY(sending);
  std::uint64_t ring_touched EXS_GUARDED_BY(sending);  // an upper limit of the ring's bytes that use memory
  std::uint64_t checked_ns EXS_GUARDED_BY(sending);    // time of the last check for a dead peer
  alignas(64) SharedLock receiving;                    // guards `receiver`
  lane::ReceiverState receiver EXS_GUARDED_BY(receiving);

  alignas(64) SlotCounters counters;
};

// Receives go through ReceiverState.
inline bool is_in_lane(const FamilySlot& slot) noexcept {
  return is_in_lane(slot.receives.load());
}
inline bool is_leaving(const FamilySlot& slot) noexcept {
  return is_leaving(slot.receives.load());
}
inline bool is_carried(const FamilySlot& slot) noexcept {
  return is_carried(slot.receives.load());
}
// The peer sends no more, or is gone.
inline bool has_seen_end(const FamilySlot& slot) noexcept {
  return slot.end.load() != SlotEnd::kOpen;
}
inline void note_end(FamilySlot& slot) noexcept {
  change_state(slot.end, SlotEnd::kOpen, SlotEnd::kSeen);
}

// --- hints without a lock: the holder may change the value at any moment ---
// Waiters look into the ring.
inline bool is_looked_at(const FamilySlot& slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&slot.receiver.looks, __ATOMIC_RELAXED);
}
inline std::uint64_t bytes_taken_from_ring(const FamilySlot& slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&slot.receiver.consumed, __ATOMIC_ACQUIRE);
}
// Bytes of TCP precede those in the ring.
inline bool is_before_mark(const FamilySlot& slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&slot.receiver.tcp_left, __ATOMIC_RELAXED) > 0;
}
inline bool sends_by_ring(const FamilySlot& slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&slot.sender.open, __ATOMIC_RELAXED);
}
inline std::uint64_t bytes_put_into_ring(const FamilySlot& slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&slot.sender.written, __ATOMIC_RELAXED);
}
inline bool is_in_kernels_send(const FamilySlot& slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&slot.sender.in_tcp, __ATOMIC_RELAXED) != 0;
}
// The error that the next call reports; 0: none. Of two that meet, one is reported.
inline int kept_error(const FamilySlot& slot) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  return __atomic_load_n(&slot.receiver.error, __ATOMIC_RELAXED);
}
inline void keep_error(FamilySlot& slot, int error) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  __atomic_store_n(&slot.receiver.error, error, __ATOMIC_RELAXED);
}
inline int take_kept_error(FamilySlot& slot) noexcept {
  const int error = kept_error(slot);
  keep_error(slot, 0);
  return error;
}

// Receives use TCP alone from now on. A reset may come first.
inline void leave_lane(FamilySlot& slot) noexcept {
  ReceivePath path = slot.receives.load();
  while (is_in_lane(path) && !slot.receives.compare_exchange_weak(path, after_lane(path))) {
  }
}

}  // namespace exs::sockets
