// The state of a connection that processes share by fork. It lies in memory of the family (arena.h), which
// the peer does not see.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "sockets/lane/receiver.h"
#include "sockets/lane/sender.h"
#include "sockets/preload/patience.h"
#include "sockets/settings/why.h"

namespace exs::sockets {

enum class Stage : std::uint32_t {
  kFree,
  kNoted,    // plain TCP; calls are counted
  kCalling,  // the caller's card waits for the peer
  kOffered,  // the called end waits for the caller, and already receives as in the lane
  kLane,     // both ends have the segment
  kPlain,    // TCP for good
};

// Robust: the next owner learns that a process died with it.
struct SharedLock {
  pthread_mutex_t mutex;
  bool owner_died;  // the damage is not repaired yet (ends.h)
};

// The counters serve exs-explain. Thread: any, unless a lock is named.
struct Slot {
  std::atomic<Stage> stage;
  std::atomic<std::uint32_t> generation;  // times that the slot was taken
  std::atomic<Why> why;
  bool was_between;              // the lane led to another host
  std::atomic<bool> is_meeting;  // a thread takes a step of the meeting
  bool locks_made;
  bool is_caller;
  bool is_foreign;  // another user owns the peer

  std::atomic<std::uint8_t> rule;        // index in sockets.conf plus one; 0: not looked up yet
  std::atomic<std::uint32_t> processes;  // processes with a number for the connection
  std::atomic<std::uint32_t> calls;
  // Receives go through ReceiverState. The thread that sets it checks in_receive afterwards. A thread that
  // goes to the kernel instead counts itself in in_receive before it checks this flag.
  std::atomic<bool> receives_in_lane;
  // Receives come from a copy of the unread bytes, not from the peer's ring (carry.h).
  std::atomic<bool> carried;
  std::atomic<std::uint32_t> in_receive;  // receives inside the kernel that may take any byte
  std::atomic<std::uint32_t> sleepers;    // threads asleep in the kernel that a bell has to wake
  std::atomic<bool> needs_bells;          // some waits are invisible to the layer
  std::atomic<bool> wants_each_bell;      // some waits are edge-triggered
  // Waiters were notified: the stream has at least this many bytes.
  std::atomic<std::uint64_t> told;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> since_ns;  // the card or offer was made then
  std::atomic<std::uint64_t> tried_ns;  // the last search for a caller of another host
  // Sends that must arrive at the peer's socket before bytes enter the ring; negative: one did not
  // (arrivals.h).
  std::atomic<std::int8_t> arrivals_left;
  std::atomic<std::uint8_t> watched_sends;
  std::atomic<Why> turned_for;  // cause of the last turn to TCP
  std::uint32_t index;          // the slot's own index
  std::uint64_t inode;          // of the TCP socket, unique on the host

  // Values of the segment at the time of its check.
  std::size_t capacity;
  std::uint8_t bell;
  pid_t peer;                 // the process that met, if this user owns it; else 0
  std::int32_t peers_number;  // that process's number of its TCP socket

  // Options that the program believes to be set, while F has other values.
  int send_buffer;  // bytes as getsockopt reports them; negative: the kernel's choice; 0: F has its own
  int low_water;    // SO_RCVLOWAT, to be set when receives go to TCP; 0: none
  bool corked;
  std::atomic<bool> holds_more;  // TCP holds back the last bytes until more follow (MSG_MORE)
  bool nodelay;
  bool resets;                     // F resets at its end, because unread bytes lie outside F
  int linger_on, linger_for;       // SO_LINGER of the program, while `resets`
  std::atomic<std::uint8_t> shut;  // ways shut down by the program: 1 receiving, 2 sending
  bool end_seen;                   // the peer sends no more, or is gone
  bool leaving;                    // receives stay in the lane until the peer has seen that we left it
  // The lane is gone, but the kernel's part of the reset is missing (reset.h).
  std::atomic<bool> is_being_reset;
  // Unread bytes are being copied; a new lock holder that finds it set knows that a relative died.
  std::atomic<bool> takes_along;
  Patience patience;        // of blocking receives
  std::atomic<bool> waits;  // the last receive without bytes was a blocking one

  alignas(64) SharedLock sending;  // guards `sender`
  lane::SenderState sender;
  std::uint64_t ring_touched;        // an upper limit of the ring's bytes that use memory
  std::uint64_t checked_ns;          // time of the last check for a dead peer
  alignas(64) SharedLock receiving;  // guards `receiver`
  lane::ReceiverState receiver;

  // --- counters ---
  alignas(64) std::atomic<std::uint64_t> ring_sent;
  std::atomic<std::uint64_t> tcp_sent;
  std::atomic<std::uint64_t> bells;
  std::atomic<std::uint64_t> turns;
  std::atomic<std::uint64_t> ring_received;
  std::atomic<std::uint64_t> tcp_received;
  std::atomic<std::uint64_t> sleeps;
  std::atomic<std::uint64_t> looks_found;
  std::atomic<std::uint64_t> looks_missed;
};

}  // namespace exs::sockets
