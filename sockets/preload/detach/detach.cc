// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/detach/detach.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "sockets/between/between.h"
#include "sockets/preload/detach/carry.h"
#include "sockets/preload/detach/peers_socket.h"
#include "sockets/preload/ends/ends.h"
#include "sockets/preload/ends/reset.h"
#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/spin.h"
#include "sockets/preload/meeting/meeting.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

constexpr int kPatienceMs = 100;
constexpr int kFarPatienceMs = 1000;

// Afterwards the peer's bytes have arrived, and later ones come by TCP.
void end_receiving_afar(int number, FamilySlot& slot, between::HostLink& link) noexcept {
  if (!between::end_both(link, kFarPatienceMs) && is_established(number))
    reset_connection(slot, number, "the peer's host did not end its lane in time");
}

using Left = LaneReceiver::Left;

// Leaves the unread bytes to the peer, which sends them by TCP in its next call.
void leave_unread(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  slot.receiving.assert_held();
  Wire wire(slot, number, 0);
  receiver_of(slot, *share_of(index).segment.load(), wire).leave();
}

// Receives leave the ring, and take the unread bytes along if possible.
void take_along(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  slot.receiving.assert_held();
  const ReceivePath before = slot.receives.load();
  const bool again = before == ReceivePath::kTakesAlong;
  if (!again && !change_state(slot.receives, before, ReceivePath::kTakesAlong)) return;  // it was reset
  const bool is_carried = leave_with_unread(number, index, again);
  if (!is_carried) leave_unread(number, index);
  const ReceivePath path = is_carried ? ReceivePath::kCarried : ReceivePath::kLeaving;
  if (change_state(slot.receives, ReceivePath::kTakesAlong, path) || !is_carried) return;
  change_state(slot.receives, ReceivePath::kLeft, ReceivePath::kDrained);  // a reset came first
}

// The segment that receives use. Completes a leave in which a relative died. The caller holds the lock for
// receiving.
Segment* receiving_segment(int number, std::uint32_t index) noexcept {
  if (slot_at(index).receives.load() == ReceivePath::kTakesAlong && share_of(index).segment.load() != nullptr)
    take_along(number, index);
  return incoming_segment(index);
}

// Begins to leave, unless that has begun, and returns the progress. With the peer's descriptor it sends the
// unread bytes itself.
Left leave_receiving(int number, std::uint32_t index, int peers_descriptor) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.receiving);
  if (!lock.held() || !is_in_lane(slot)) return Left::kYes;
  Segment* const segment = receiving_segment(number, index);
  if (segment == nullptr) return Left::kNever;
  Wire wire(slot, number, 0);
  LaneReceiver receiver = receiver_of(slot, *segment, wire);
  if (!slot.receiver.leaving) receiver.leave();
  Left left = receiver.has_left();
  if ((left == Left::kNotYet || left == Left::kBehind) && peers_descriptor >= 0) {
    wire.resend_by(peers_descriptor);
    receiver.return_unread();
    left = receiver.has_left();
  }
  if (left != Left::kYes) return left;
  let_end_reset(slot, number, false);
  leave_lane(slot);
  return left;
}

// Wakes a sleeping peer, so that it takes the unread bytes back.
void wake_peer(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.sending);
  Segment* const segment = lock.held() ? share_of(index).segment.load() : nullptr;
  if (segment == nullptr || slot.stage.load() != Stage::kLane) return;
  Wire wire(slot, number, MSG_NOSIGNAL);
  sender_of(slot, *segment, wire).wake();
}

// Moves the unread bytes to TCP: by the peer's descriptor, or by a call of the peer, which is woken for it.
void detach_receiving(int number, std::uint32_t index) noexcept {
  Left left = leave_receiving(number, index, -1);
  if (left == Left::kYes) return;
  const PeersSocket peers(number, slot_at(index));
  for (int i = 0; i < kPatienceMs && (left == Left::kNotYet || left == Left::kBehind); ++i) {
    if (i > 0) sleep_1ms();
    if (peers.descriptor() < 0) wake_peer(number, index);
    left = leave_receiving(number, index, peers.descriptor());
  }
  if (left != Left::kYes)
    reset_connection(slot_at(index), number,
                     "the peer did not take back what lies in shared memory; EXS_SOCKETS=off serves programs "
                     "that do this");
}

void detach_sending_of(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  Segment* const segment = share_of(index).segment.load();
  const SlotLock lock(slot.sending);
  if (segment == nullptr || !lock.held()) return;
  Wire wire(slot, number, 0);
  sender_of(slot, *segment, wire).finish();
  restore_tcp_options(slot, number);
  between::HostLink* const link = share_of(index).link.load();
  if (link != nullptr && between::await_turn(*link, kFarPatienceMs) <= 0 && is_established(number))
    reset_connection(slot, number, "the peer's host did not take what was sent to it");
}

// Neither direction uses the rings any more. False: one does, or the pump does.
bool unmap_rings_of(std::uint32_t index, Segment& segment) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock sending(slot.sending);
  const SlotLock receiving(slot.receiving);
  SlotShare& place = share_of(index);
  if (!sending.held() || !receiving.held() || place.has_words_alone || place.link.load() != nullptr ||
      place.segment.load() != &segment || slot.sender.open || is_in_lane(slot))
    return false;
  place.has_words_alone = true;
  unmap_rings(segment, slot.lane.capacity);
  return true;
}

// Ends the lane for sending. Returns whether receives still use it.
bool begin_detach(int number, std::uint32_t index, Why why) noexcept {
  FamilySlot& slot = slot_at(index);
  Segment* const segment = share_of(index).segment.load();
  if (segment != nullptr) {
    if (slot.stage.load() == Stage::kOffered)
      segment->meeting.exchange_if(static_cast<std::uint32_t>(Meeting::kOffered),
                                   static_cast<std::uint32_t>(Meeting::kWithdrawn));
    detach_sending_of(number, index);
    if (between::HostLink* const link = share_of(index).link.load()) end_receiving_afar(number, slot, *link);
  }
  end_meeting(index);
  finish_reset(slot, number);
  slot.why.store(why);
  enter_state(slot.stage, Stage::kPlain);
  return segment != nullptr || is_carried(slot);
}

void detach_slot_later(int number, std::uint32_t index, Why why) noexcept {
  const int error = errno;
  if (begin_detach(number, index, why)) {
    FamilySlot& slot = slot_at(index);
    const SlotLock lock(slot.receiving);
    if (lock.held() && slot.receives.load() == ReceivePath::kRing) {
      take_along(number, index);
      finish_leaving(number, index);
    }
  }
  errno = error;
}

}  // namespace

void detach_sending(int number, Why why) noexcept {
  const std::uint32_t index = slot_of(number);
  if (index == 0) return;
  slot_at(index).why.store(why);
  detach_sending_of(number, index);
}

void detach(int number, Why why) noexcept {
  detach_slot(number, slot_of(number), why);
}

void detach_slot(int number, std::uint32_t index, Why why) noexcept {
  if (index == 0) return;
  const int error = errno;
  if (between::HostLink* const link = share_of(index).link.load()) {
    detach_sending_of(number, index);  // the end of the lane waits for this
    end_receiving_afar(number, slot_at(index), *link);
  }
  // Before begin_detach(): the bell that wakes the peer must precede the end of our sending.
  if (share_of(index).segment.load() != nullptr || is_carried(slot_at(index)))
    detach_receiving(number, index);
  begin_detach(number, index, why);
  errno = error;
}

bool detach_now(int number, std::uint32_t index, Why why) noexcept {
  if (share_of(index).link.load() != nullptr || is_carried(slot_at(index))) return false;
  if (!is_established(number)) return false;  // a socket that is shut down cannot send
  Left left = leave_receiving(number, index, -1);
  if (left == Left::kNotYet || left == Left::kBehind) {
    const PeersSocket peers(number, slot_at(index));
    if (peers.descriptor() >= 0) left = leave_receiving(number, index, peers.descriptor());
  }
  if (left != Left::kYes) return false;
  begin_detach(number, index, why);
  return true;
}

void detach_later(int number, Why why) noexcept {
  if (const std::uint32_t index = slot_of(number); index != 0) detach_slot_later(number, index, why);
}

bool detach_with_unread(int number, std::uint32_t index, Why why) noexcept {
  if (index == 0) return false;
  detach_slot_later(number, index, why);
  FamilySlot& slot = slot_at(index);
  const ReceivePath path = slot.receives.load();
  if (!is_in_lane(path)) return false;
  if (path == ReceivePath::kCarried) return true;
  detach_slot(number, index, why);  // the peer is about to send the unread bytes
  return false;
}

bool finish_leaving(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  slot.receiving.assert_held();
  Segment* const segment = receiving_segment(number, index);
  if (segment == nullptr) return false;
  Wire wire(slot, number, 0);
  LaneReceiver receiver = receiver_of(slot, *segment, wire);
  if (receiver.has_left() != LaneReceiver::Left::kYes) {
    // An ended peer never tells how much it takes back, so the unread bytes stay in the ring.
    if (slot.receives.load() == ReceivePath::kLeaving && has_ended(number) && receiver.stay())
      change_state(slot.receives, ReceivePath::kLeaving, ReceivePath::kRing);
    return false;
  }
  let_end_reset(slot, number, false);
  leave_lane(slot);
  if (slot.options.low_water != 0)
    raw::sys(SYS_setsockopt, number, SOL_SOCKET, SO_RCVLOWAT, &slot.options.low_water,
             sizeof slot.options.low_water);
  slot.options.low_water = 0;
  return true;
}

void serve_leaver(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  Segment* const segment = share_of(index).segment.load();
  if (segment == nullptr || (outgoing(slot, *segment).sleep.load() & lane::kDetached) == 0) return;
  const SlotLock lock(slot.sending);
  if (!lock.held() || !slot.sender.open) return;
  Wire wire(slot, number, MSG_NOSIGNAL);
  if (sender_of(slot, *segment, wire).take_back() == -EPROTO)
    reset_connection(slot, number, "the peer says that it has read what was never sent");
}

void end_sending(int number) noexcept {
  const std::uint32_t index = slot_of(number);
  if (index == 0) return;
  detach_sending_of(number, index);
  if (Segment* const segment = share_of(index).segment.load())
    outgoing(slot_at(index), *segment).ended.store(1);
}

bool finish_sending_afar(std::uint32_t index, Segment& segment, int descriptor) noexcept {
  FamilySlot& slot = slot_at(index);
  const SlotLock lock(slot.sending, std::try_to_lock);
  if (!lock.held()) return false;
  Wire wire(slot, descriptor, MSG_NOSIGNAL);
  sender_of(slot, segment, wire).finish();
  return true;
}

void end_lanes_between_hosts() noexcept {
  for (int number = 0; number < numbers_known(); ++number) {
    const std::uint32_t index = slot_of(number);
    between::HostLink* const link = index == 0 ? nullptr : share_of(index).link.load();
    if (link == nullptr) continue;
    detach_sending(number, Why::kShared);
    end_receiving_afar(number, slot_at(index), *link);
  }
}

void reset_afar(std::uint32_t index, int descriptor, const char* cause) noexcept {
  FamilySlot& slot = slot_at(index);
  if (inode_of(descriptor) == slot.inode) return reset_connection(slot, descriptor, cause);
  // The program has closed the connection, and the slot belongs to another one.
  const sockaddr none{AF_UNSPEC, {}};
  raw::sys(SYS_connect, descriptor, &none, sizeof none);
}

void detach_all(Why why) noexcept {
  for (int number = 0; number < numbers_known() && shares_used() > 0; ++number)
    if (slot_of(number) != 0) detach(number, why);
}

bool give_rings_back(bool (*must_go_on)()) noexcept {
  const int error = errno;
  bool some = false;
  for (int number = 0; number < numbers_known() && must_go_on(); ++number) {
    const std::uint32_t index = slot_of(number);
    if (index == 0 || slot_at(index).meeting.is_busy.exchange(true))
      continue;  // the meeting may unmap it itself
    FamilySlot& slot = slot_at(index);
    Segment* const segment = share_of(index).segment.load();
    if (segment != nullptr &&
        (slot.stage.load() == Stage::kPlain || detach_now(number, index, Why::kNoDescriptors)))
      some = unmap_rings_of(index, *segment) || some;
    slot.meeting.is_busy.store(false);
  }
  errno = error;
  return some;
}

void prepare_urgent(int number, Why why) noexcept {
  if (slot_at(slot_of(number)).stage.load() == Stage::kLane) return detach_sending(number, why);
  detach_later(number, why);
}

void refuse_bytes(int number) noexcept {
  const std::uint32_t index = slot_of(number);
  if (Segment* const segment = share_of(index).segment.load())
    incoming(slot_at(index), *segment).closed.store(1);
  if (between::HostLink* const link = share_of(index).link.load()) between::wake(*link);
}

void say_goodbye(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  Wire wire(slot, number, MSG_NOSIGNAL);
  if (Segment* const segment = share_of(index).segment.load()) {
    const SlotLock lock(slot.sending);
    if (lock.held()) sender_of(slot, *segment, wire).finish();
    incoming(slot, *segment).closed.store(1);
  }
  const SlotLock lock(slot.receiving);
  Segment* const segment = lock.held() && is_in_lane(slot) ? receiving_segment(number, index) : nullptr;
  if (segment == nullptr) return;
  LaneReceiver receiver = receiver_of(slot, *segment, wire);
  receiver.arm();
  if (receiver.in_ring() > 0) {  // as Linux does with unread bytes
    const linger now{1, 0};
    raw::sys(SYS_setsockopt, number, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    return;
  }
  if (slot.receiver.tcp_left == 0) receiver.take_bells();
}

}  // namespace exs::sockets
