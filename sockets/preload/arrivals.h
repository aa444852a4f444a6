// The proof that bytes of a connection, and the bytes that its end is about to put into shared memory, go to the same socket.
//
// The ends find one another by names, which a packet filter may rewrite: then another connection has the mirrored ones. No number goes
// through a connection unseen by the program at its other end, so the program's own bytes have to do.
//
// Design notes
// 1. While the ends meet, the kernel is asked around each send of the program by TCP how many bytes the socket with the mirrored names
//    has received: before, it must have had all that this end has sent, and afterwards those of this send, too. Then they have arrived.
// 2. It cannot have received more than this end has sent, nor less than TCP has acknowledged: else it is no end of this connection.
// 3. Each end shows this for what it sends, before the first byte that it puts into the ring. A filter that keeps track of the
//    connection (redirected.h) may rewrite names: then sixteen sends in a row have to arrive, as two clients may do the same at the
//    same time.
// Thread: any.
#pragma once

#include <cstdint>

#include "sockets/preload/point.h"
#include "sockets/preload/slot.h"

namespace exs::sockets {

// At the beginning of a meeting. False: the two are not ends of one connection.
bool begin_proof(int number, Slot& slot, const Point& own, const Point& peer) noexcept;

inline bool is_proven(const Slot& slot) noexcept {
  return slot.arrivals_left.load(std::memory_order_relaxed) == 0;
}
inline bool is_disproved(const Slot& slot) noexcept {
  return slot.arrivals_left.load(std::memory_order_relaxed) < 0;
}

// Around a send of the program by TCP.
class Arrival {
 public:
  Arrival() noexcept = default;
  Arrival(int number, Slot& slot) noexcept;
  // So many bytes were sent, or an error.
  void end(long sent) noexcept;

 private:
  int number_ = -1;
  Slot* slot_ = nullptr;      // null: there is nothing to see
  std::uint64_t before_ = 0;  // bytes that were sent and had arrived
};

}  // namespace exs::sockets
