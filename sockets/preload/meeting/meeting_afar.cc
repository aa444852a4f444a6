// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>

#include <cstring>

#include "sockets/between/between.h"
#include "sockets/preload/ends/ends.h"
#include "sockets/preload/ends/wire.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/meeting/meeting.h"
#include "sockets/preload/meeting/meeting_steps.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/slot_settings.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

void give_up_afar(FamilySlot& slot, between::Fault fault) noexcept {
  static_assert(static_cast<unsigned>(Why::kTooMany) - static_cast<unsigned>(Why::kNotCome) ==
                static_cast<unsigned>(between::Fault::kTooMany));
  give_up(slot, static_cast<Why>(static_cast<unsigned>(Why::kNotCome) + static_cast<unsigned>(fault)));
}

bool is_late(const FamilySlot& slot) noexcept {
  return now_ns() - slot.meeting.since_ns.load() > kNanosecondsMax;
}

// The card belongs to an agent, which tells where the caller is.
bool receive_invitation(std::uint32_t index, between::HostInvitation& invitation) noexcept {
  const int guest = share_of(index).socket - 1;
  const long count =
      raw::sys(SYS_recvfrom, guest, &invitation, sizeof invitation, MSG_DONTWAIT, nullptr, nullptr);
  return count == sizeof invitation && invitation.magic == between::kInvitationMagic;
}

}  // namespace

between::Place16 far_place(const Point& point) noexcept {
  between::Place16 place{};
  std::memcpy(place.address, point.address, sizeof place.address);
  place.port = point.port;
  return place;
}
bool wants_other_hosts(const SocketsSettings& settings) noexcept {
  using Between = SocketsSettings::Between;
  return settings.between == Between::kOn || (settings.between == Between::kAuto && between::has_agent());
}

void call_other_host(int number, std::uint32_t index, FamilySlot& slot, const Point& own,
                     const Point& peer) noexcept {
  const SocketsSettings& settings = settings_of(slot);
  if (!wants_other_hosts(settings)) return give_up(slot, Why::kOtherHost);
  if (!settings.any_path && !between::has_device()) return give_up_afar(slot, between::Fault::kNoDevice);
  between::Fault fault{};
  between::HostLink* const link = between::call(number, index, far_place(own), far_place(peer),
                                                static_cast<std::uint16_t>(settings.agent_port), fault);
  if (link == nullptr) return give_up_afar(slot, fault);
  share_of(index).link.store(link);
  slot.meeting.calls.store(0);
  slot.meeting.since_ns.store(now_ns());
  if (!change_state(slot.stage, Stage::kNoted, Stage::kCalling)) end_meeting(index);  // a detach came first
}

// The called end has connected its stream.
void join_afar(int number, std::uint32_t index, FamilySlot& slot, between::HostLink& link) noexcept {
  const between::State state = link.state.load();
  if (state == between::State::kMet && slot.processes.load() == 1 && is_established(number)) {
    int memfd = -1;
    Segment* const segment = create_segment(link.capacity, link.bell, memfd);
    if (memfd >= 0) raw::sys(SYS_close, memfd);
    if (segment != nullptr) {
      slot.lane.was_between = true;
      fit_tcp_options(slot, number);
      link.segment = segment;
      incoming(slot, *segment).ended.store(1);  // the stream alone tells of the peer's end (killed.h)
      enter_lane(number, index, slot, *segment, link.capacity, Stage::kCalling);
      return between::join(link);
    }
  } else if (state != between::State::kOver && !is_late(slot) && slot.processes.load() == 1) {
    return;
  }
  const between::Fault fault = link.fault.load();
  end_meeting(index);
  if (slot.processes.load() != 1) return give_up(slot, Why::kShared);
  give_up_afar(slot, fault);
}

bool answer_invitation(int number, std::uint32_t index, FamilySlot& slot, Segment* segment) noexcept {
  between::HostInvitation invitation{};
  if (!receive_invitation(index, invitation)) return false;
  const SocketsSettings& settings = settings_of(slot);
  const bool may = settings.between != SocketsSettings::Between::kOff &&
                   (settings.any_path || between::has_device()) && slot.processes.load() == 1;
  between::Fault fault = between::Fault::kNoDevice;
  between::HostLink* const link =
      may ? between::answer(number, index, invitation, *segment, slot.lane.capacity, slot.lane.bell, fault)
          : nullptr;
  end_meeting(index);
  if (link == nullptr) {
    take_offer_back(index, slot, segment);
    give_up_afar(slot, fault);
    return true;
  }
  incoming(slot, *segment).ended.store(1);
  share_of(index).link.store(link);
  slot.lane.peer = 0;  // it was the agent
  slot.lane.is_foreign = false;
  slot.meeting.since_ns.store(now_ns());
  return true;
}

void await_stream(int number, std::uint32_t index, FamilySlot& slot, between::HostLink& link) noexcept {
  const between::State state = link.state.load();
  if (state == between::State::kRuns) {
    fit_tcp_options(slot, number);
    slot.lane.was_between = true;
    change_state(slot.stage, Stage::kOffered, Stage::kLane);
    return;
  }
  if (state != between::State::kOver && !is_late(slot)) return;
  // Once the link runs, it may have bytes of the peer, so the lane stays.
  if (!between::end_both(link, 0) || link.state.load() == between::State::kRuns) return;
  const between::Fault fault = link.fault.load();
  take_offer_back(index, slot, share_of(index).segment.load());
  give_up_afar(slot, fault);
}

}  // namespace exs::sockets
