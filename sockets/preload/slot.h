// What the processes that share a connection by fork know of it. It lies in memory that they share (arena.h), and which the
// peer does not see.
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
  kNoted,    // plain TCP, and calls are counted
  kCalling,  // the caller's card waits for the peer
  kOffered,  // the called end waits for the caller; receives as in the lane already
  kLane,     // both ends have the segment
  kPlain,    // TCP for good
};

// Robust: who gets it from a process that died with it sees that.
struct SharedLock {
  pthread_mutex_t mutex;
  bool owner_died;  // and what it was at is not set right yet (ends.h)
};

// The counters are those of exs-explain. Thread: any, unless a lock is named.
struct Slot {
  std::atomic<Stage> stage;
  std::atomic<std::uint32_t> generation;  // times that it was taken
  std::atomic<Why> why;
  bool was_between;              // its lane led to another host
  std::atomic<bool> is_meeting;  // a thread takes a step of it
  bool locks_made;
  bool is_caller;
  bool is_foreign;  // the peer is of another user

  std::atomic<std::uint8_t> rule;        // of sockets.conf, and one more; 0: not looked up yet
  std::atomic<std::uint32_t> processes;  // that have a number for the connection
  std::atomic<std::uint32_t> calls;
  // Receives go through ReceiverState. Whoever sets it looks at in_receive afterwards, and whoever goes to the kernel without it
  // counts himself there before he looks here.
  std::atomic<bool> receives_in_lane;
  std::atomic<bool>
      carried;  // and not from the peer's ring, which we left, but from a copy of what was unread (carry.h)
  std::atomic<std::uint32_t> in_receive;  // receives of the program inside the kernel that may take any byte
  std::atomic<std::uint32_t> sleepers;    // threads asleep in the kernel that a bell has to wake
  std::atomic<bool> needs_bells;          // somebody waits for it in a way that the layer does not see
  std::atomic<bool> wants_each_bell;      // somebody waits for edges
  // Whoever waited has been told of bytes: the stream has at least so many.
  std::atomic<std::uint64_t> told;
  std::atomic<std::uint64_t> bytes;
  std::atomic<std::uint64_t> since_ns;  // the card or the offer is out since then
  std::atomic<std::uint64_t> tried_ns;  // a caller of another host was looked for
  // Sends of the program that have to arrive at the peer's socket before bytes go into the ring; negative: they do not (arrivals.h).
  std::atomic<std::int8_t> arrivals_left;
  std::atomic<std::uint8_t> watched_sends;
  std::atomic<Why> turned_for;  // the last turn to TCP
  std::uint32_t index;          // which slot it is
  std::uint64_t inode;          // of the TCP socket: no other one on the host has it

  // Of the segment, as it was when it was checked.
  std::size_t capacity;
  std::uint8_t bell;
  pid_t peer;                 // the process that met, if it is this user's; else 0
  std::int32_t peers_number;  // of its TCP socket, then

  // What the program believes to have set, while F has other values.
  int send_buffer;  // bytes as getsockopt tells them, negative where the kernel chose; 0: F has its own
  int low_water;    // SO_RCVLOWAT, to be set when receives go to TCP; 0: none
  bool corked;
  std::atomic<bool> holds_more;  // TCP waits for more before it sends what it was given last (MSG_MORE)
  bool nodelay;
  bool resets;                     // what is unread is not in F, which resets at its end all the same
  int linger_on, linger_for;       // SO_LINGER, while it does
  std::atomic<std::uint8_t> shut;  // ways that the program has shut down: 1 receiving, 2 sending
  bool end_seen;                   // the peer sends no more, or is gone
  bool leaving;                    // receives go on in the lane until the peer has seen that we left it
  // Nothing goes by the lane any more, but the kernel has not been told of the reset yet (reset.h).
  std::atomic<bool> is_being_reset;
  std::atomic<bool> takes_along;  // what is unread: found set by who holds the lock, a relative died at it
  Patience patience;              // of blocking receives
  std::atomic<bool> waits;        // the last receive that found nothing was one

  alignas(64) SharedLock sending;  // guards `sender`
  lane::SenderState sender;
  std::uint64_t ring_touched;        // bytes of the ring that have memory, at most
  std::uint64_t checked_ns;          // when a peer that does not read was looked for last
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
