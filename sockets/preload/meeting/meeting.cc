// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/meeting/meeting.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "sockets/between/between.h"
#include "sockets/between/card_name.h"
#include "sockets/preload/ends/ends.h"
#include "sockets/preload/ends/guests.h"
#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/peer_user.h"
#include "sockets/preload/kernel/point.h"
#include "sockets/preload/kernel/raw.h"
#include "sockets/preload/kernel/rules.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/meeting/arrivals.h"
#include "sockets/preload/meeting/listener_mark.h"
#include "sockets/preload/meeting/meeting_steps.h"
#include "sockets/preload/meeting/offer.h"
#include "sockets/preload/meeting/redirected.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/hidden.h"
#include "sockets/preload/table/slot_settings.h"
#include "sockets/preload/table/table.h"

namespace exs::sockets {
namespace {

constexpr std::uint32_t kCallsMax = 64;
// The caller may not be scheduled during many calls of this end. A caller on another host must first load a
// library and ask an agent.
constexpr std::uint64_t kLateEveryNs = 8 * kNsPerMs;
constexpr std::uint64_t kFarNsMax = 10 * kNsPerSecond;

between::CardName card_name(const Point& caller, const Point& called) noexcept {
  return {far_place(caller), far_place(called)};
}

void close_raw(int descriptor) noexcept {
  if (descriptor >= 0) raw::sys(SYS_close, descriptor);
}
// A process of another user must be the user of the peer's socket. Otherwise it may have taken the name of a
// foreign connection.
bool is_user_of_peer(int number, uid_t user) noexcept {
  Point own{};
  Point peer{};
  if (!point_of(SYS_getsockname, number, own) || !point_of(SYS_getpeername, number, peer)) return false;
  const FarSocket far = look_at_far_socket(number, own, peer);
  return far.is == FarSocket::Is::kThere && far.user == user;
}
bool peer_is_allowed(int guest, int number, FamilySlot& slot) noexcept {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (raw::sys(SYS_getsockopt, guest, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return false;
  const auto own = static_cast<uid_t>(raw::sys(SYS_geteuid));
  if (!settings_of(slot).users.allow(credentials.uid, own)) return false;
  slot.lane.is_foreign = credentials.uid != own;
  slot.lane.peer = slot.lane.is_foreign ? 0 : credentials.pid;
  return !slot.lane.is_foreign || is_user_of_peer(number, credentials.uid);
}

// The guest is a process of root, which may not be allowed to share memory with us. An agent gets no offer.
bool may_be_agent(int guest, const FamilySlot& slot) noexcept {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return raw::sys(SYS_getsockopt, guest, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
         credentials.uid == 0 && wants_other_hosts(settings_of(slot));
}

// Inside the host a ring holds what TCP holds, because a program may send that much before it receives. The
// memory is used only where the reader falls behind. Between hosts it is locked memory.
std::size_t ring_bytes_for(int guest, const FamilySlot& slot) noexcept {
  constexpr std::size_t kHere = std::size_t{4} << 20;
  constexpr std::size_t kSmall = std::size_t{256} << 10;
  const SocketsSettings& settings = settings_of(slot);
  if (settings.ring_bytes != 0) return settings.ring_bytes;
  return may_be_agent(guest, slot) || is_space_limited() ? kSmall : kHere;
}

// Receives go through the lane from now on, unless a thread in the kernel could take bells for bytes.
void get_ready(int number, FamilySlot& slot, Segment& segment) noexcept {
  if (slot.receives.load() != ReceivePath::kTcp) return;
  const SlotLock lock(slot.receiving);
  if (!lock.held() || !change_state(slot.receives, ReceivePath::kTcp, ReceivePath::kRing)) return;
  const std::int64_t taken =
      slot.waits.in_receive.load() == 0 && is_established(number) ? bytes_taken(number) : -1;
  if (taken < 0) {
    change_state(slot.receives, ReceivePath::kRing, ReceivePath::kTcp);
    return;
  }
  slot.receiver.position = static_cast<std::uint64_t>(taken);
  if (slot.waits.wants_each_bell.load()) incoming(slot, segment).sleep.fetch_or(lane::kEach);
  incoming(slot, segment).ready.store(1);
  if (between::HostLink* const link = share_of(index_of(slot)).link.load()) between::wake(*link);
}

// The exact cause, for users who ask: a packet filter has redirected the connection. No process announces the
// port then, and no socket has the mirrored names.
Why why_in_full(Why why, int number, const Point& own, const Point& peer) noexcept {
  const bool has_peer = look_at_far_socket(number, own, peer).is != FarSocket::Is::kNone;
  return why == Why::kPeerNotPreloaded && !has_peer ? Why::kRedirected : why;
}

void leave_card(int number, std::uint32_t index, FamilySlot& slot) noexcept {
  Point own{};
  Point peer{};
  if (!point_of(SYS_getsockname, number, own) || !point_of(SYS_getpeername, number, peer))
    return slot.meeting.calls.store(0);  // not connected yet
  const bool is_local = std::memcmp(own.address, peer.address, sizeof own.address) == 0 ||
                        (own.is_loopback() && peer.is_loopback());
  if (!is_local || !settings_of(slot).local) return call_other_host(number, index, slot, own, peer);
  if (!may_have_guests()) return give_up(slot, Why::kStrangers);
  if (!may_hide()) return give_up(slot, Why::kNoDescriptors);
  if (const Why why = why_not_announced(peer.port, number); why != Why::kNone)
    return give_up(slot, settings().explain ? why_in_full(why, number, own, peer) : why);
  if (!begin_proof(number, slot, own, peer)) return give_up(slot, Why::kRedirected);
  const int card = unix_socket(SOCK_SEQPACKET);
  if (card < 0) return give_up(slot, Why::kNoDescriptors);
  const between::CardName name = card_name(own, peer);
  if (raw::sys(SYS_bind, card, &name.address, name.length) != 0 || raw::sys(SYS_listen, card, 1) != 0) {
    close_guest(card);
    return give_up(slot, Why::kStrangers);
  }
  share_of(index).socket = hide(card) + 1;
  slot.meeting.calls.store(0);
  slot.meeting.since_ns.store(now_ns());
  if (!change_state(slot.stage, Stage::kNoted, Stage::kCalling)) end_meeting(index);  // a detach came first
}

bool has_expired(const FamilySlot& slot) noexcept {
  return now_ns() - slot.meeting.since_ns.load() > kNanosecondsMax;
}
// A connection with many calls looks for its peer in the first ones, and then now and then.
bool is_due(FamilySlot& slot) noexcept {
  constexpr std::uint64_t kEveryNs = 4 * kNsPerMs;
  if (slot.meeting.calls.load() <= kCallsMax) return true;
  const std::uint64_t now = now_ns();
  if (now - slot.meeting.tried_ns.load() < kEveryNs) return false;
  slot.meeting.tried_ns.store(now);
  return true;
}

// The called end has come with a segment. kNone: this end has joined.
Why take_offer(int guest, int number, FamilySlot& slot, Segment*& segment, std::size_t& capacity) noexcept {
  if (!peer_is_allowed(guest, number, slot)) return Why::kOtherUser;
  if (!is_established(number)) return Why::kEnded;
  int memfd = -1;
  if (const Why why = receive_offer(guest, memfd); why != Why::kNone) return why;
  segment = map_segment(memfd, capacity);
  close_passed(memfd);
  if (segment == nullptr) return is_space_limited() ? Why::kNoDescriptors : Why::kBroken;
  segment->number_of_caller.store(number);
  if (segment->meeting.exchange_if(static_cast<std::uint32_t>(Meeting::kOffered),
                                   static_cast<std::uint32_t>(Meeting::kJoined)))
    return Why::kNone;
  unmap_segment(segment, capacity);
  return Why::kPeerLeft;
}

void give_card_up(std::uint32_t index, FamilySlot& slot, Why why) noexcept {
  end_meeting(index);
  give_up(slot, why);
}

void join(int number, std::uint32_t index, FamilySlot& slot) noexcept {
  slot.meeting.calls.fetch_add(1);
  if (between::HostLink* const link = share_of(index).link.load())
    return join_afar(number, index, slot, *link);
  if (slot.processes.load() != 1) return give_card_up(index, slot, Why::kShared);
  if (is_disproved(slot)) return give_card_up(index, slot, Why::kRedirected);
  if (!is_due(slot)) return;
  const int card = share_of(index).socket - 1;  // -1 after an exec that failed
  const int guest =
      static_cast<int>(raw::sys(SYS_accept4, card, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (guest < 0) {
    if (has_expired(slot)) give_card_up(index, slot, Why::kNotMet);
    return;
  }
  Segment* segment = nullptr;
  std::size_t capacity = 0;
  const Why why = take_offer(guest, number, slot, segment, capacity);
  close_guest(guest);  // only now, because a peer whose guest closes before the join takes its offer back
  if (why != Why::kNone) return give_card_up(index, slot, why);
  end_meeting(index);
  fit_tcp_options(slot, number);
  slot.lane.peers_number = segment->number_of_called.load();
  enter_lane(number, index, slot, *segment, capacity, Stage::kCalling);
}

// Checks the owner of the card: the connection's caller, who may share memory with us, or an agent of this
// host. kNone: so it is.
Why why_no_offer(int guest, bool may_share, int number, FamilySlot& slot, const Point& own,
                 const Point& peer) noexcept {
  if (!have_one_namespace(guest, number)) return Why::kOtherNetns;
  if (!is_established(number)) return Why::kEnded;
  if (!may_share) return may_be_agent(guest, slot) ? Why::kNone : Why::kOtherUser;
  return begin_proof(number, slot, own, peer) ? Why::kNone : Why::kRedirected;
}

void offer(int number, std::uint32_t index, FamilySlot& slot) noexcept {
  Point own{};
  Point peer{};
  // Another process that has the connection may close it.
  slot.why.store(slot.processes.load() == 1 ? Why::kNone : Why::kShared);
  if (slot.processes.load() != 1 || !may_have_guests() || !point_of(SYS_getsockname, number, own) ||
      !point_of(SYS_getpeername, number, peer))
    return;
  if (tracking_of(number, own, peer, false) == Tracking::kRedirected) return give_up(slot, Why::kRedirected);
  if (!may_hide()) return give_up(slot, Why::kNoDescriptors);
  const int guest = unix_socket(SOCK_SEQPACKET);
  if (guest < 0) return;
  const between::CardName name = card_name(peer, own);
  if (raw::sys(SYS_connect, guest, &name.address, name.length) != 0) {
    close_guest(guest);
    return;
  }
  int memfd = -1;
  const std::size_t capacity = ring_bytes_for(guest, slot);
  const bool may_share = peer_is_allowed(guest, number, slot);
  if (const Why why = why_no_offer(guest, may_share, number, slot, own, peer); why != Why::kNone) {
    close_guest(guest);
    return give_up(slot, why);
  }
  Segment* const segment = create_segment(capacity, static_cast<std::uint8_t>(monotonic_ns() >> 4), memfd);
  if (segment != nullptr) segment->number_of_called.store(number);
  const Why why = segment == nullptr ? Why::kNoDescriptors
                  : may_share        ? send_offer(guest, memfd)
                                     : Why::kNone;
  close_raw(memfd);
  if (why != Why::kNone) {
    if (segment != nullptr) unmap_segment(segment, capacity);
    close_guest(guest);
    return give_up(slot, why);
  }
  share_of(index).socket = hide(guest) + 1;
  slot.meeting.calls.store(0);
  slot.meeting.since_ns.store(now_ns());
  if (enter_lane(number, index, slot, *segment, capacity, Stage::kNoted)) return;
  segment->meeting.store(static_cast<std::uint32_t>(Meeting::kWithdrawn));
  take_offer_back(index, slot, segment);
}

// News from the other end of a meeting's socket.
enum class News { kNone, kMessage, kEnd };
News news_of(int guest) noexcept {
  char byte;
  const long count =
      raw::sys(SYS_recvfrom, guest, &byte, sizeof byte, MSG_PEEK | MSG_DONTWAIT, nullptr, nullptr);
  if (count == -EAGAIN) return News::kNone;
  return count > 0 ? News::kMessage : News::kEnd;
}

void await_join(int number, std::uint32_t index, FamilySlot& slot) noexcept {
  slot.meeting.calls.fetch_add(1);
  Segment* const segment = share_of(index).segment.load();
  if (between::HostLink* const link = share_of(index).link.load())
    return await_stream(number, index, slot, *link);
  constexpr auto kJoined = static_cast<std::uint32_t>(Meeting::kJoined);
  if (segment->meeting.load() != kJoined) {
    const bool is_wrong = is_disproved(slot);
    if (!is_wrong && !is_due(slot)) return;
    const News news = is_wrong ? News::kNone : news_of(share_of(index).socket - 1);
    if (news == News::kMessage && answer_invitation(number, index, slot, segment)) return;
    if (!is_wrong && news != News::kEnd && !has_expired(slot)) return;
    if (segment->meeting.exchange(static_cast<std::uint32_t>(Meeting::kWithdrawn)) != kJoined) {
      take_offer_back(index, slot, segment);
      return give_up(slot, is_wrong ? Why::kRedirected : news == News::kEnd ? Why::kPeerLeft : Why::kNotMet);
    }
  }
  end_meeting(index);
  fit_tcp_options(slot, number);
  change_state(slot.stage, Stage::kOffered, Stage::kLane);
}

// Looks up the rule that counts. False: the connection has no peer yet.
bool find_rule(int number, FamilySlot& slot) noexcept {
  if (rules().count == 0 || slot.rule.load() != 0) return true;
  Point own{};
  Point peer{};
  if (!point_of(SYS_getsockname, number, own) || !point_of(SYS_getpeername, number, peer)) return false;
  RuledConnection connection;
  connection.side = slot.is_caller ? Side::kConnect : Side::kListen;
  connection.port = slot.is_caller ? peer.port : own.port;
  std::memcpy(connection.peer.bytes, peer.address, sizeof peer.address);
  slot.rule.store(static_cast<std::uint8_t>(rules().find(connection) + 1));
  return true;
}

// For a connection with many calls: looks for a card now and then.
void offer_late(int number, std::uint32_t index, FamilySlot& slot) noexcept {
  const std::uint64_t now = now_ns();
  if (slot.meeting.since_ns.load() == 0) slot.meeting.since_ns.store(now);
  const std::uint64_t limit = wants_other_hosts(settings_of(slot)) ? kFarNsMax : kNanosecondsMax;
  if (now - slot.meeting.since_ns.load() > limit)
    return give_up(slot, slot.why.load() == Why::kNone ? Why::kNotMet : slot.why.load());
  if (now - slot.meeting.tried_ns.load() < kLateEveryNs) return;
  slot.meeting.tried_ns.store(now);
  offer(number, index, slot);
}

void count_call(int number, std::uint32_t index, FamilySlot& slot) noexcept {
  if (!find_rule(number, slot)) return;
  if (!settings_of(slot).on) return give_up(slot, Why::kRule);
  const std::uint32_t calls = slot.meeting.calls.fetch_add(1) + 1;
  const std::uint32_t first = settings_of(slot).after;
  const bool many_bytes = slot.meeting.bytes.load(std::memory_order_relaxed) >= settings_of(slot).after_bytes;
  if (slot.is_caller) {
    if (calls >= first || many_bytes) leave_card(number, index, slot);
    return;
  }
  // At the first time, and at each later power of two.
  const bool tries =
      calls == first || (calls > first && (calls & (calls - 1)) == 0) || (first == 1 && calls < kCallsMax);
  if (tries || (many_bytes && calls < kCallsMax)) offer(number, index, slot);
  if (slot.stage.load() != Stage::kNoted || calls < kCallsMax) return;
  offer_late(number, index, slot);
}

}  // namespace

std::uint64_t now_ns() noexcept {
  return clock_ns(CLOCK_MONOTONIC_COARSE);
}

void give_up(FamilySlot& slot, Why why) noexcept {
  slot.why.store(why == Why::kEnded ? Why::kNone : why);  // the connection was short-lived
  enter_state(slot.stage, Stage::kPlain);
}

void apply_rule(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  if (find_rule(number, slot) && !settings_of(slot).on) give_up(slot, Why::kRule);
}

bool enter_lane(int number, std::uint32_t index, FamilySlot& slot, Segment& segment, std::size_t capacity,
                Stage before) noexcept {
  slot.lane.capacity = capacity;
  slot.lane.bell = static_cast<std::uint8_t>(segment.bell);
  EXS_DEBUG_CHECK(share_of(index).segment.load() == nullptr);
  share_of(index).segment.store(&segment);
  if (!change_state(slot.stage, before, before == Stage::kNoted ? Stage::kOffered : Stage::kLane))
    return false;
  get_ready(number, slot, segment);
  return true;
}

void take_offer_back(std::uint32_t index, FamilySlot& slot, Segment* segment) noexcept {
  const SlotLock lock(slot.receiving);
  change_state(slot.receives, ReceivePath::kRing, ReceivePath::kTcp);
  share_of(index).segment.store(nullptr);
  if (share_of(index).link.load() == nullptr) unmap_segment(segment, slot.lane.capacity);
  end_meeting(index);
  slot.lane.capacity = 0;
}

void meet(int number, std::uint32_t index) noexcept {
  FamilySlot& slot = slot_at(index);
  const Stage stage = slot.stage.load();
  if (stage == Stage::kPlain) return;
  if (stage == Stage::kLane) {
    if (!is_in_lane(slot))
      if (Segment* const segment = share_of(index).segment.load()) get_ready(number, slot, *segment);
    return;
  }
  // One thread takes the step; others go on without it.
  if (slot.meeting.is_busy.exchange(true)) return;
  switch (slot.stage.load()) {
    case Stage::kNoted: count_call(number, index, slot); break;
    case Stage::kCalling: join(number, index, slot); break;
    case Stage::kOffered: await_join(number, index, slot); break;
    default: break;
  }
  slot.meeting.is_busy.store(false);
}

void end_meeting(std::uint32_t index) noexcept {
  SlotShare& place = share_of(index);
  if (is_vfork_child()) return;  // the parent closes the socket
  if (place.segment.load() == nullptr)
    if (between::HostLink* const link = place.link.exchange(nullptr)) between::release(*link, 0);
  if (place.socket == 0) return;
  close_guest(place.socket - 1);
  place.socket = 0;
}

}  // namespace exs::sockets
