// Bytes that were unread when a connection left its ring. They are copied to memory of the family, where
// every process that shares the connection receives them before TCP. Thread: holder of the slot's lock for
// receiving, unless another is named.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/preload/table/segment.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// The segment that receives read: the shared one, or the copy of the unread bytes. Null: neither exists.
// Thread: any.
Segment* incoming_segment(std::uint32_t slot) noexcept;

// Receives leave the peer's ring. `again` repeats this for a relative that died in it. False: there is no
// memory for the copy, or the peer is already sending all bytes by TCP.
bool leave_with_unread(int number, std::uint32_t slot, bool again) noexcept;

// The process has no number of the connection left; `last`: no process has. Thread: any.
void drop_carried(std::uint32_t slot, bool last) noexcept;

}  // namespace exs::sockets
