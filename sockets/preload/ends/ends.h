// The two ends of a connection's lane, made for one call from the slot, the segment and the wire.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/lane/receiver.h"
#include "sockets/lane/sender.h"
#include "sockets/preload/ends/wire.h"
#include "sockets/preload/table/segment.h"
#include "sockets/preload/table/slot.h"

namespace exs::sockets {

using LaneReceiver = lane::Receiver<lane::SharedWord, Wire>;
using LaneSender = lane::Sender<lane::SharedWord, Wire>;

inline Direction& incoming(const FamilySlot& slot, Segment& segment) noexcept {
  return slot.is_caller ? segment.from_called : segment.from_caller;
}
inline Direction& outgoing(const FamilySlot& slot, Segment& segment) noexcept {
  return slot.is_caller ? segment.from_caller : segment.from_called;
}

inline LaneReceiver receiver_of(FamilySlot& slot, Segment& segment, Wire& wire) noexcept
    EXS_REQUIRES(slot.receiving) {
  LaneReceiver receiver(slot.receiver, incoming(slot, segment),
                        {segment.ring(slot.is_caller, slot.lane.capacity), slot.lane.capacity}, wire);
  if (slot.receiving.owner_died) {
    slot.receiving.owner_died = false;
    receiver.take_over();
  }
  return receiver;
}
inline LaneSender sender_of(FamilySlot& slot, Segment& segment, Wire& wire) noexcept
    EXS_REQUIRES(slot.sending) {
  LaneSender sender(slot.sender, outgoing(slot, segment),
                    {segment.ring(!slot.is_caller, slot.lane.capacity), slot.lane.capacity}, wire);
  if (slot.sending.owner_died) {
    slot.sending.owner_died = false;
    sender.take_over();
  }
  return sender;
}

}  // namespace exs::sockets
