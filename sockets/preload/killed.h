// A peer that was killed with bytes unread in the ring: TCP knows of none, and so sent an end where it resets a connection with
// unread bytes. Thread: any.
#pragma once

#include "sockets/preload/segment.h"
#include "sockets/preload/slot.h"

namespace exs::sockets {

// The peer sends no more. Whether it left bytes unread; then the connection is reset from now on, and the program is to be told
// ECONNRESET once, which is up to the caller.
bool reset_by_dead_peer(int number, Slot& slot, Segment& segment) noexcept;
// The same, and the next call tells the program.
bool note_dead_peer(int number, Slot& slot, Segment& segment) noexcept;

}  // namespace exs::sockets
