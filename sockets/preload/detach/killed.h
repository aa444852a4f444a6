// A peer that was killed with bytes unread in the ring. TCP does not know of these bytes, so it sends an end
// where unread bytes demand a reset. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/preload/table/segment.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// The peer sends no more. True: it left bytes unread, and the connection is reset from now on. The caller
// must report ECONNRESET to the program once.
bool reset_by_dead_peer(int number, FamilySlot& slot, Segment& segment) noexcept;
// Like reset_by_dead_peer(), but the program's next call reports the error.
bool note_dead_peer(int number, FamilySlot& slot, Segment& segment) noexcept;

}  // namespace exs::sockets
