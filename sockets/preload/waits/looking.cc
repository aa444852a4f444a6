// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/waits/looking.h"

#include <poll.h>

#include <cerrno>

#include "sockets/preload/detach/carry.h"
#include "sockets/preload/detach/detach.h"
#include "sockets/preload/ends/ends.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/slot_settings.h"
#include "sockets/preload/table/table.h"
#include "sockets/preload/waits/registrations.h"

namespace exs::sockets {
namespace {

constexpr std::uint32_t kNsOfUs = 1000;

}  // namespace

std::uint32_t looking_ns(Patience& patience, const SocketsSettings& settings) noexcept {
  if (settings.kernel_waits || has_one_processor()) return 0;
  return settings.spin_auto ? patience.allowance() : settings.spin_us * kNsOfUs;
}

bool will_look(const Patience& patience, const SocketsSettings& settings) noexcept {
  if (settings.kernel_waits || has_one_processor()) return false;
  return settings.spin_auto ? patience.allows() : settings.spin_us > 0;
}

bool may_look(const FamilySlot& slot, std::uint32_t index) noexcept {
  return !settings_of(slot).kernel_waits && slot.processes.load(std::memory_order_relaxed) == 1 &&
         !slot.waits.needs_bells.load(std::memory_order_relaxed) && slot.waits.sleepers.load() == 0 &&
         sets_are_awake(index);
}

bool start_looking(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.receiving);
  Segment* const segment = lock.held() && slot_of(number) == index ? share_of(index).segment.load() : nullptr;
  if (segment == nullptr || slot.stage.load() != Stage::kLane || !is_in_lane(slot) || !may_look(slot, index))
    return false;
  Wire wire(slot, number, 0);
  receiver_of(slot, *segment, wire).look_by_itself();
  return true;
}

bool stop_looking(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  if (!is_looked_at(slot)) return true;
  const SlotLock lock(slot.receiving);
  Segment* const segment = lock.held() && slot_of(number) == index ? incoming_segment(index) : nullptr;
  if (segment == nullptr) return true;
  Wire wire(slot, number, 0);
  if (receiver_of(slot, *segment, wire).stop_looking()) return true;
  slot.waits.told.store(slot.receiver.consumed + 1, std::memory_order_relaxed);
  return false;
}

bool is_looking(std::uint32_t index) noexcept {
  return is_looked_at(slot_at(index));
}

void want_each_bell(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  slot.waits.wants_each_bell.store(true);
  if (!is_in_lane(slot)) return;  // get_ready() arms it
  const SlotLock lock(slot.receiving);
  if (!lock.held() || slot_of(number) != index || is_carried(slot)) return;
  Segment* const segment = share_of(index).segment.load();
  if (segment == nullptr) return;
  Wire wire(slot, number, 0);
  receiver_of(slot, *segment, wire).arm_for_each();
}

bool has_bytes(std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  Segment* const segment = incoming_segment(index);
  // Bytes of TCP precede those in the ring, and make TCP readable when they come.
  if (segment == nullptr || !is_looked_at(slot) || is_before_mark(slot)) return false;
  // `consumed` before `written`: the later value is never the smaller one.
  const std::uint64_t consumed = bytes_taken_from_ring(slot);
  if (incoming(slot, *segment).written.load() == consumed)
    return was_told_of_bytes(slot) && slot.receives.load() == ReceivePath::kRing;
  slot.waits.told.store(consumed + 1, std::memory_order_relaxed);
  return true;
}

// A hint: the lock is not asked for.
bool has_bell_alone(std::uint32_t index) noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  FamilySlot& slot = slot_at(index);
  Segment* const segment = is_in_lane(slot) ? incoming_segment(index) : nullptr;
  if (segment == nullptr || is_before_mark(slot)) return false;
  Wire wire(slot, -1, 0);
  const LaneReceiver receiver(slot.receiver, incoming(slot, *segment),
                              {segment->ring(slot.is_caller, slot.lane.capacity), slot.lane.capacity}, wire);
  return receiver.bells_in_tcp() > 0 && !receiver.has_bytes_in_ring();
}

bool was_told_of_bytes(const FamilySlot& slot) noexcept {
  return slot.waits.told.load(std::memory_order_relaxed) == bytes_taken_from_ring(slot) + 1 &&
         !is_before_mark(slot);
}

bool is_readable(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  if (!is_in_lane(slot)) return true;
  const SlotLock lock(slot.receiving);
  Segment* const segment = lock.held() && slot_of(number) == index ? incoming_segment(index) : nullptr;
  if (segment == nullptr || !is_in_lane(slot)) return true;
  if (is_leaving(slot)) {  // finish_leaving() takes the bells
    finish_leaving(number, index);
    pollfd entry{number, POLLIN, 0};
    const timespec now{};
    return raw::sys(SYS_ppoll, &entry, 1, &now, nullptr, 0) != 0;
  }
  Wire wire(slot, number, 0);
  LaneReceiver receiver = receiver_of(slot, *segment, wire);
  if (receiver.in_ring() > 0 || receiver.bells_in_tcp() == 0) return true;
  char byte;
  const iovec part{&byte, 1};
  Parts parts(&part, 1);
  const long there = receiver.peek(parts);
  if (there == -EPROTO) {
    slot.receiver.broken = true;
  } else if (there < 0 && there != -EAGAIN) {
    slot.receiver.error = static_cast<int>(-there);
  }
  return there != -EAGAIN;
}

bool has_room(std::uint32_t index) noexcept {
  const FamilySlot& slot = slot_at(index);
  Segment* const segment = share_of(index).segment.load();
  return segment != nullptr && sends_by_ring(slot) &&
         bytes_put_into_ring(slot) - outgoing(slot, *segment).consumed.load() < slot.lane.capacity;
}

std::uint64_t bytes_written(std::uint32_t index) noexcept {
  Segment* const segment = incoming_segment(index);
  return segment == nullptr ? 0 : incoming(slot_at(index), *segment).written.load();
}

std::uint64_t filled_ns(std::uint32_t index) noexcept {
  Segment* const segment = incoming_segment(index);
  return segment == nullptr ? 0 : incoming(slot_at(index), *segment).filled_ns.load();
}

std::uint64_t bytes_received(std::uint32_t index) noexcept {
  return bytes_taken_from_ring(slot_at(index));
}

}  // namespace exs::sockets
