// Proves that bytes sent by TCP and bytes about to enter shared memory reach the same socket.
//
// The ends find one another by names, which a packet filter may rewrite. Another connection may then have the
// mirrored names. Any number sent through a connection is seen by the program at its other end. So the
// program's own bytes are the proof.
//
// Design notes
// 1. During the meeting, the kernel is asked around each send by TCP how many bytes the socket with the
//    mirrored names has received. Before the send this must be all that this end has sent. Afterwards it must
//    include this send: the bytes have arrived.
// 2. A count above what this end has sent, or below what TCP has acknowledged, belongs to another connection.
// 3. Each end proves this for its own bytes before its first byte enters the ring. If a filter tracks the
//    connection (redirected.h), names may be rewritten. Sixteen sends in a row must arrive then, because two
//    clients may send the same at the same time. Each is preceded by a random wait, so that clients in step do
//    not stay in step.
// Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/preload/kernel/point.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// Begins a meeting. False: the two are not ends of one connection.
bool begin_proof(int number, FamilySlot& slot, const Point& own, const Point& peer) noexcept;

inline bool is_proven(const FamilySlot& slot) noexcept {
  return slot.meeting.arrivals_left.load(std::memory_order_relaxed) == 0;
}
inline bool is_disproved(const FamilySlot& slot) noexcept {
  return slot.meeting.arrivals_left.load(std::memory_order_relaxed) < 0;
}

// Encloses a send of the program by TCP.
class WatchedSend {
 public:
  WatchedSend() noexcept = default;
  WatchedSend(int number, FamilySlot& slot) noexcept;
  // `sent`: the number of bytes, or an error.
  void end(long sent) noexcept;

 private:
  int number_ = -1;
  FamilySlot* slot_ = nullptr;  // null: nothing to watch
  std::uint64_t before_ = 0;    // bytes that had been sent and had arrived
};

}  // namespace exs::sockets
