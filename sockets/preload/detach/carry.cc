// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/detach/carry.h"

#include <cstring>

#include "sockets/preload/ends/ends.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

// Maps the memory at the first use.
Segment* carried_segment(std::uint32_t index) noexcept {
  std::atomic<Segment*>& place = share_of(index).carried;
  if (Segment* const known = place.load()) return known;
  Segment* const mapped = map_unread(index, Segment::bytes(slot_at(index).lane.capacity));
  Segment* none = nullptr;
  if (mapped == nullptr || place.compare_exchange_strong(none, mapped)) return mapped;
  unmap_unread(mapped, slot_at(index).lane.capacity);
  return none;
}

}  // namespace

Segment* incoming_segment(std::uint32_t index) noexcept {
  return is_carried(slot_at(index)) ? carried_segment(index) : share_of(index).segment.load();
}

bool leave_with_unread(int number, std::uint32_t index, bool again) noexcept {
  FamilySlot& slot = slot_at(index);
  slot.receiving.assert_held();
  Segment* const segment = share_of(index).segment.load();
  Segment* const own = carried_segment(index);
  if (segment == nullptr || own == nullptr) return false;
  std::byte* const ring = own->ring(slot.is_caller, slot.lane.capacity);
  // Both rings have the same size, so each byte keeps its offset.
  struct ToOwn {
    const std::byte* from;
    std::byte* to;
    void copy_from(const std::byte* bytes, std::size_t count) const noexcept {
      std::memcpy(to + (bytes - from), bytes, count);
    }
  };
  const ToOwn to_own{segment->ring(slot.is_caller, slot.lane.capacity), ring};
  Wire wire(slot, number, 0);
  LaneReceiver receiver = receiver_of(slot, *segment, wire);
  // Set before the copy: TCP knows nothing of the unread bytes if the process is killed.
  let_end_reset(slot, number, receiver.in_ring() > 0);
  const bool carried = receiver.leave_with(
      incoming(slot, *own),
      [&](const lane::Ring& peers, std::uint64_t position, std::uint64_t start, std::size_t count) {
        let_end_reset(slot, number, true);
        peers.get(position, start, count, to_own);
      },
      again);
  if (!carried) let_end_reset(slot, number, false);
  return carried;
}

void drop_carried(std::uint32_t index, bool last) noexcept {
  FamilySlot& slot = slot_at(index);
  if (Segment* const own = share_of(index).carried.exchange(nullptr)) unmap_unread(own, slot.lane.capacity);
  if (!last || !is_carried(slot)) return;
  leave_lane(slot);
  enter_state(slot.receives, ReceivePath::kLeft);
  forget_unread(index);
}

}  // namespace exs::sockets
