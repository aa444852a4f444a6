#include "sockets/preload/detach.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "sockets/preload/arena.h"
#include "sockets/preload/ends.h"
#include "sockets/preload/meeting.h"
#include "sockets/preload/raw.h"
#include "sockets/preload/reset.h"
#include "sockets/preload/spin.h"
#include "sockets/preload/table.h"

namespace exs::sockets {
namespace {

constexpr int kPatienceMs = 100;

void detach_receiving(int number, std::uint32_t index, Segment& segment) noexcept {
  Slot& slot = slot_at(index);
  const SlotLock lock(slot.receiving);
  if (!lock.held() || !slot.receives_in_lane.load()) return;
  Wire wire(slot, number, 0);
  LaneReceiver receiver = receiver_of(slot, segment, wire);
  using Left = LaneReceiver::Left;
  receiver.leave();
  Left left = receiver.has_left();
  for (int i = 0; i < kPatienceMs && left == Left::kNotYet; ++i) {
    sleep_1ms();
    left = receiver.has_left();
  }
  if (left != Left::kYes)
    reset_connection(number,
                     "the peer did not take back what lies in shared memory; EXS_SOCKETS=off serves programs "
                     "that do this");
  slot.receives_in_lane.store(false);
}

}  // namespace

void detach_sending(int number) noexcept {
  const std::uint32_t index = slot_of(number);
  if (index == 0) return;
  Slot& slot = slot_at(index);
  Segment* const segment = place_of(index).segment.load();
  const SlotLock lock(slot.sending);
  if (segment == nullptr || !lock.held()) return;
  Wire wire(slot, number, 0);
  sender_of(slot, *segment, wire).finish();
  restore_tcp_options(slot, number);
}

namespace {

// Receives still go through the lane.
bool begin_detach(int number, std::uint32_t index, Why why) noexcept {
  Slot& slot = slot_at(index);
  Segment* const segment = place_of(index).segment.load();
  if (segment != nullptr) {
    if (slot.stage.load() == Stage::kOffered)
      segment->meeting.exchange_if(static_cast<std::uint32_t>(Meeting::kOffered),
                                   static_cast<std::uint32_t>(Meeting::kWithdrawn));
    detach_sending(number);
  }
  end_meeting(index);
  slot.why.store(why);
  slot.stage.store(Stage::kPlain);
  return segment != nullptr;
}

}  // namespace

void detach(int number, Why why) noexcept {
  const std::uint32_t index = slot_of(number);
  if (index == 0) return;
  const int error = errno;
  if (begin_detach(number, index, why)) detach_receiving(number, index, *place_of(index).segment.load());
  errno = error;
}

void detach_later(int number, Why why) noexcept {
  const std::uint32_t index = slot_of(number);
  if (index == 0) return;
  const int error = errno;
  Slot& slot = slot_at(index);
  if (begin_detach(number, index, why)) {
    const SlotLock lock(slot.receiving);
    if (lock.held() && slot.receives_in_lane.load() && !slot.leaving) {
      Wire wire(slot, number, 0);
      receiver_of(slot, *place_of(index).segment.load(), wire).leave();
      slot.leaving = true;
      finish_leaving(number, index);
    }
  }
  errno = error;
}

bool finish_leaving(int number, std::uint32_t index) noexcept {
  Slot& slot = slot_at(index);
  Segment* const segment = place_of(index).segment.load();
  Wire wire(slot, number, 0);
  if (receiver_of(slot, *segment, wire).has_left() != LaneReceiver::Left::kYes) return false;
  slot.receives_in_lane.store(false);
  slot.leaving = false;
  if (slot.low_water != 0)
    raw::sys(SYS_setsockopt, number, SOL_SOCKET, SO_RCVLOWAT, &slot.low_water, sizeof slot.low_water);
  slot.low_water = 0;
  return true;
}

void detach_all(Why why) noexcept {
  for (int number = 0; number < kNumbers && places_used() > 0; ++number)
    if (slot_of(number) != 0) detach(number, why);
}

void prepare_urgent(int number) noexcept {
  const std::uint32_t index = slot_of(number);
  if (slot_at(index).stage.load() == Stage::kLane) return detach_sending(number);
  detach_later(number, Why::kOption);
}

void refuse_bytes(int number) noexcept {
  const std::uint32_t index = slot_of(number);
  if (Segment* const segment = place_of(index).segment.load())
    incoming(slot_at(index), *segment).closed.store(1);
}

void say_goodbye(int number, std::uint32_t index) noexcept {
  Slot& slot = slot_at(index);
  Segment* const segment = place_of(index).segment.load();
  if (segment == nullptr) return;
  Wire wire(slot, number, MSG_NOSIGNAL);
  {
    const SlotLock lock(slot.sending);
    if (lock.held()) sender_of(slot, *segment, wire).finish();
  }
  const SlotLock lock(slot.receiving);
  if (!lock.held() || !slot.receives_in_lane.load()) return;
  incoming(slot, *segment).closed.store(1);
  LaneReceiver receiver = receiver_of(slot, *segment, wire);
  receiver.arm();
  if (receiver.in_ring() > 0) {  // what Linux does when bytes are unread
    const linger now{1, 0};
    raw::sys(SYS_setsockopt, number, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    return;
  }
  if (slot.receiver.tcp_left == 0) receiver.take_bells();
}

}  // namespace exs::sockets
