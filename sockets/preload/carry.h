// What lay unread in the ring when a connection left it: copied to memory of the family, where every process that shares the
// connection receives it from, before TCP. Thread: holder of the slot's lock for receiving, unless told otherwise.
#pragma once

#include <cstdint>

#include "sockets/preload/segment.h"
#include "sockets/preload/slot.h"

namespace exs::sockets {

// The segment that receives look into: the peer's and ours, or what was carried away from it; null: none. Thread: any.
Segment* incoming_segment(std::uint32_t slot) noexcept;

// Receives leave the peer's ring. False: there is no memory to carry what is unread, or the peer is at it: it sends all by TCP.
// `again`: a process of the family died at it.
bool leave_with_unread(int number, std::uint32_t slot, bool again) noexcept;

// The process has no number of it any more; `last`: nobody has. Thread: any.
void drop_carried(std::uint32_t slot, bool last) noexcept;

}  // namespace exs::sockets
