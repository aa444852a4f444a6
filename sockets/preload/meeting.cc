#include "sockets/preload/meeting.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "sockets/between/between.h"
#include "sockets/between/card_name.h"
#include "sockets/preload/arena.h"
#include "sockets/preload/ends.h"
#include "sockets/preload/guests.h"
#include "sockets/preload/hidden.h"
#include "sockets/preload/identity.h"
#include "sockets/preload/kept_marks.h"
#include "sockets/preload/meeting_steps.h"
#include "sockets/preload/peer_user.h"
#include "sockets/preload/point.h"
#include "sockets/preload/raw.h"
#include "sockets/preload/redirected.h"
#include "sockets/preload/rules.h"
#include "sockets/preload/runtime.h"
#include "sockets/preload/table.h"

namespace exs::sockets {
namespace {

constexpr std::uint32_t kCallsMax = 64;
// A caller on another host has to load a library first, and to ask an agent.
constexpr std::uint64_t kFarEveryNs = 8'000'000;
constexpr std::uint64_t kFarNsMax = 10'000'000'000;
constexpr std::uint64_t kNanosecondsLeast =
    20'000'000;  // many calls are made while a peer is not even scheduled
constexpr std::uint64_t kOfferMagic = 0x31726566666f7865;  // "exoffer1"

// A name in the abstract space.
struct Name {
  sockaddr_un address{};
  socklen_t length = 0;

  void add(const char* text) noexcept {
    const std::size_t used = length == 0 ? 1 : length - offsetof(sockaddr_un, sun_path);
    const std::size_t bytes = std::strlen(text);
    std::memcpy(address.sun_path + used, text, bytes);
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + used + bytes);
  }
};

Name listener_name(std::uint16_t port) noexcept {
  char text[32];
  std::snprintf(text, sizeof text, "exs-sock/1/L/%u", port);
  Name name;
  name.address.sun_family = AF_UNIX;
  name.add(text);
  return name;
}
between::CardName card_name(const Point& caller, const Point& called) noexcept {
  return {far_place(caller), far_place(called)};
}

int unix_socket(int type) noexcept {
  return static_cast<int>(raw::sys(SYS_socket, AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}
void close_raw(int descriptor) noexcept {
  if (descriptor >= 0) raw::sys(SYS_close, descriptor);
}
// Another user's process must be of the user whose socket the peer's end is: it could have taken the name of a connection that
// is not its own.
bool is_user_of_peer(int number, uid_t user) noexcept {
  Point own{};
  Point peer{};
  uid_t owner = 0;
  return point_of(SYS_getsockname, number, own) && point_of(SYS_getpeername, number, peer) &&
         user_of_socket(peer, own, owner) && owner == user;
}
bool peer_is_allowed(int guest, int number, Slot& slot) noexcept {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (raw::sys(SYS_getsockopt, guest, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return false;
  const auto own = static_cast<uid_t>(raw::sys(SYS_geteuid));
  if (!settings_of(slot).users.allow(credentials.uid, own)) return false;
  slot.is_foreign = credentials.uid != own;
  slot.peer = slot.is_foreign ? 0 : credentials.pid;
  return !slot.is_foreign || is_user_of_peer(number, credentials.uid);
}

// Of root, who gets no offer then, as a program of its may not be allowed to share memory with us.
bool may_be_agent(int guest, const Slot& slot) noexcept {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return raw::sys(SYS_getsockopt, guest, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
         credentials.uid == 0 && wants_other_hosts(settings_of(slot));
}

// Inside the host as much as TCP holds, since a program may send all that before it receives; it takes memory only where the reader
// falls behind. Between hosts it is locked memory.
std::size_t ring_bytes_for(int guest, const Slot& slot) noexcept {
  constexpr std::size_t kHere = std::size_t{4} << 20;
  constexpr std::size_t kSmall = std::size_t{256} << 10;
  const Settings& settings = settings_of(slot);
  if (settings.ring_bytes != 0) return settings.ring_bytes;
  return may_be_agent(guest, slot) || is_space_limited() ? kSmall : kHere;
}

// Receives go through the lane from now on, unless somebody is in the kernel who would take bells for bytes.
void get_ready(int number, Slot& slot, Segment& segment) noexcept {
  if (slot.receives_in_lane.load()) return;
  const SlotLock lock(slot.receiving);
  if (!lock.held() || slot.receives_in_lane.load()) return;
  slot.receives_in_lane.store(true);
  const std::int64_t taken = slot.in_receive.load() == 0 && is_established(number) ? bytes_taken(number) : -1;
  if (taken < 0) {
    slot.receives_in_lane.store(false);
    return;
  }
  slot.receiver.position = static_cast<std::uint64_t>(taken);
  if (slot.wants_each_bell.load()) incoming(slot, segment).sleep.fetch_or(lane::kEach);
  incoming(slot, segment).ready.store(1);
  if (between::Link* const link = place_of(index_of(slot)).link.load()) between::wake(*link);
}

struct Offer {
  std::uint64_t magic;
};

bool send_offer(int to, int memfd) noexcept {
  Offer offer{kOfferMagic};
  iovec part{&offer, sizeof offer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof memfd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* const control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof memfd);
  std::memcpy(CMSG_DATA(control), &memfd, sizeof memfd);
  return raw::sys(SYS_sendmsg, to, &message, MSG_DONTWAIT | MSG_NOSIGNAL) == sizeof offer;
}

// The memfd of an offer; -1: none that we know.
int receive_offer(int from) noexcept {
  // The peer connects and sends in one call of its program.
  constexpr long kPatienceNs = 10'000'000;
  pollfd ready{from, POLLIN, 0};
  timespec limit{0, kPatienceNs};
  raw::sys(SYS_ppoll, &ready, 1, &limit, nullptr, 0);
  raw::sys(SYS_shutdown, from, SHUT_RD);  // what comes now is received, or never
  Offer offer{};
  iovec part{&offer, sizeof offer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = CMSG_LEN(sizeof(int));  // with the padding, a second descriptor would fit
  const long count = raw::sys(SYS_recvmsg, from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  int memfd = -1;
  const cmsghdr* const control = count < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof memfd))
    std::memcpy(&memfd, CMSG_DATA(control), sizeof memfd);
  if (count == sizeof offer && offer.magic == kOfferMagic && (message.msg_flags & MSG_CTRUNC) == 0)
    return memfd;
  close_passed(memfd);
  return -1;
}

void leave_card(int number, std::uint32_t index, Slot& slot) noexcept {
  Point own{};
  Point peer{};
  if (!point_of(SYS_getsockname, number, own) || !point_of(SYS_getpeername, number, peer))
    return slot.calls.store(0);  // not connected yet
  if (is_redirected(number, own, peer, true)) return give_up(slot, Why::kRedirected);
  const bool is_local = std::memcmp(own.address, peer.address, sizeof own.address) == 0 ||
                        (own.is_loopback() && peer.is_loopback());
  if (!is_local || !settings_of(slot).local) return call_other_host(number, index, slot, own, peer);
  if (!may_have_guests()) return give_up(slot, Why::kBroken);
  if (!may_hide()) return give_up(slot, Why::kNoDescriptors);
  const int probe = unix_socket(SOCK_DGRAM);
  if (probe < 0) return give_up(slot, Why::kNoDescriptors);
  const Name listener = listener_name(peer.port);
  const bool listens = raw::sys(SYS_connect, probe, &listener.address, listener.length) == 0;
  const bool same_space = have_one_namespace(probe, number);
  close_raw(probe);
  if (!listens) return give_up(slot, Why::kPeerNotPreloaded);
  if (!same_space) return give_up(slot, Why::kOtherNetns);
  int card = unix_socket(SOCK_SEQPACKET);
  if (card < 0) return give_up(slot, Why::kNoDescriptors);
  const between::CardName name = card_name(own, peer);
  if (raw::sys(SYS_bind, card, &name.address, name.length) != 0 || raw::sys(SYS_listen, card, 1) != 0) {
    close_guest(card);
    return give_up(slot, Why::kBroken);
  }
  place_of(index).socket = hide(card) + 1;
  slot.calls.store(0);
  slot.since_ns.store(now_ns());
  slot.stage.store(Stage::kCalling);
}

bool has_expired(const Slot& slot) noexcept {
  const std::uint64_t waited = now_ns() - slot.since_ns.load();
  return waited > kNanosecondsMax || (slot.calls.load() > kCallsMax && waited > kNanosecondsLeast);
}

void join(int number, std::uint32_t index, Slot& slot) noexcept {
  slot.calls.fetch_add(1);
  if (between::Link* const link = place_of(index).link.load()) return join_afar(number, index, slot, *link);
  const int card = place_of(index).socket - 1;  // none after an exec that failed
  const int guest =
      static_cast<int>(raw::sys(SYS_accept4, card, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (guest < 0) {
    if (has_expired(slot) || slot.processes.load() != 1) {
      end_meeting(index);
      give_up(slot, Why::kPeerNotPreloaded);
    }
    return;
  }
  const bool allowed = peer_is_allowed(guest, number, slot);
  const int memfd =
      allowed && slot.processes.load() == 1 && is_established(number) ? receive_offer(guest) : -1;
  close_guest(guest);
  end_meeting(index);
  std::size_t capacity = 0;
  Segment* const segment = memfd < 0 ? nullptr : map_segment(memfd, capacity);
  close_passed(memfd);
  if (segment == nullptr) return give_up(slot, allowed ? Why::kBroken : Why::kOtherUser);
  segment->number_of_caller.store(number);
  if (!segment->meeting.exchange_if(static_cast<std::uint32_t>(Meeting::kOffered),
                                    static_cast<std::uint32_t>(Meeting::kJoined))) {
    unmap_segment(segment, capacity);
    return give_up(slot, Why::kPeerNotPreloaded);
  }
  fit_tcp_options(slot, number);
  slot.peers_number = segment->number_of_called.load();
  enter_lane(number, index, slot, *segment, capacity, Stage::kLane);
}

void offer(int number, std::uint32_t index, Slot& slot) noexcept {
  Point own{};
  Point peer{};
  if (slot.processes.load() != 1 || !may_have_guests() || !point_of(SYS_getsockname, number, own) ||
      !point_of(SYS_getpeername, number, peer))
    return;
  if (is_redirected(number, own, peer, false)) return give_up(slot, Why::kRedirected);
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
  if (!(may_share || may_be_agent(guest, slot)) || !have_one_namespace(guest, number) ||
      !is_established(number)) {
    close_guest(guest);
    return give_up(slot, Why::kOtherUser);
  }
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  Segment* const segment = create_segment(capacity, static_cast<std::uint8_t>(now.tv_nsec >> 4), memfd);
  if (segment != nullptr) segment->number_of_called.store(number);
  if (segment == nullptr || (may_share && !send_offer(guest, memfd))) {
    if (segment != nullptr) unmap_segment(segment, capacity);
    close_raw(memfd);
    close_guest(guest);
    return give_up(slot, Why::kNoDescriptors);
  }
  close_raw(memfd);
  place_of(index).socket = hide(guest) + 1;
  slot.calls.store(0);
  slot.since_ns.store(now_ns());
  enter_lane(number, index, slot, *segment, capacity, Stage::kOffered);
}

void await_join(int number, std::uint32_t index, Slot& slot) noexcept {
  slot.calls.fetch_add(1);
  Segment* const segment = place_of(index).segment.load();
  if (between::Link* const link = place_of(index).link.load())
    return await_stream(number, index, slot, *link);
  if (answer_invitation(number, index, slot, segment)) return;
  constexpr auto kJoined = static_cast<std::uint32_t>(Meeting::kJoined);
  std::uint32_t meeting = segment->meeting.load();
  if (meeting != kJoined) {
    if (!has_expired(slot)) return;
    meeting = segment->meeting.exchange(static_cast<std::uint32_t>(Meeting::kWithdrawn));
  }
  if (meeting == kJoined) {
    end_meeting(index);
    fit_tcp_options(slot, number);
    slot.stage.store(Stage::kLane);
    return;
  }
  take_offer_back(index, slot, segment);
  give_up(slot, Why::kPeerNotPreloaded);
}

// Looks up which rule counts. False: the connection has no peer yet.
bool find_rule(int number, Slot& slot) noexcept {
  if (rules().count == 0 || slot.rule.load() != 0) return true;
  Point own{};
  Point peer{};
  if (!point_of(SYS_getsockname, number, own) || !point_of(SYS_getpeername, number, peer)) return false;
  Connection connection;
  connection.side = slot.is_caller ? Side::kConnect : Side::kListen;
  connection.port = slot.is_caller ? peer.port : own.port;
  std::memcpy(connection.peer.bytes, peer.address, sizeof peer.address);
  slot.rule.store(static_cast<std::uint8_t>(rules().find(connection) + 1));
  return true;
}

// Whether a card is here by now, now and then.
void offer_afar(int number, std::uint32_t index, Slot& slot) noexcept {
  const std::uint64_t now = now_ns();
  if (slot.since_ns.load() == 0) {
    if (!wants_other_hosts(settings_of(slot))) return give_up(slot, Why::kPeerNotPreloaded);
    slot.since_ns.store(now);
  }
  if (now - slot.since_ns.load() > kFarNsMax) return give_up(slot, Why::kPeerNotPreloaded);
  if (now - slot.tried_ns.load() < kFarEveryNs) return;
  slot.tried_ns.store(now);
  offer(number, index, slot);
}

void count_call(int number, std::uint32_t index, Slot& slot) noexcept {
  if (!find_rule(number, slot)) return;
  if (!settings_of(slot).on) return give_up(slot, Why::kRule);
  const std::uint32_t calls = slot.calls.fetch_add(1) + 1;
  const std::uint32_t first = settings_of(slot).after;
  const bool many_bytes = slot.bytes.load(std::memory_order_relaxed) >= settings_of(slot).after_bytes;
  if (slot.is_caller) {
    if (calls >= first || many_bytes) leave_card(number, index, slot);
    return;
  }
  // The first time, and at each power of two from then on.
  const bool tries =
      calls == first || (calls > first && (calls & (calls - 1)) == 0) || (first == 1 && calls < kCallsMax);
  if (tries || (many_bytes && calls < kCallsMax)) offer(number, index, slot);
  if (slot.stage.load() != Stage::kNoted || calls < kCallsMax) return;
  offer_afar(number, index, slot);
}

}  // namespace

std::uint64_t now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(now.tv_nsec);
}

void give_up(Slot& slot, Why why) noexcept {
  slot.why.store(why);
  slot.stage.store(Stage::kPlain);
}

void enter_lane(int number, std::uint32_t index, Slot& slot, Segment& segment, std::size_t capacity,
                Stage stage) noexcept {
  slot.capacity = capacity;
  slot.bell = static_cast<std::uint8_t>(segment.bell);
  place_of(index).segment.store(&segment);
  slot.stage.store(stage);
  get_ready(number, slot, segment);
}

void take_offer_back(std::uint32_t index, Slot& slot, Segment* segment) noexcept {
  const SlotLock lock(slot.receiving);
  slot.receives_in_lane.store(false);
  place_of(index).segment.store(nullptr);
  if (place_of(index).link.load() == nullptr) unmap_segment(segment, slot.capacity);
  end_meeting(index);
  slot.capacity = 0;
}

void meet(int number, std::uint32_t index) noexcept {
  Slot& slot = slot_at(index);
  const Stage stage = slot.stage.load();
  if (stage == Stage::kPlain) return;
  if (stage == Stage::kLane) {
    if (!slot.receives_in_lane.load())
      if (Segment* const segment = place_of(index).segment.load()) get_ready(number, slot, *segment);
    return;
  }
  // One thread at a time; the others go on as they are.
  if (slot.is_meeting.exchange(true)) return;
  switch (slot.stage.load()) {
    case Stage::kNoted: count_call(number, index, slot); break;
    case Stage::kCalling: join(number, index, slot); break;
    case Stage::kOffered: await_join(number, index, slot); break;
    default: break;
  }
  slot.is_meeting.store(false);
}

void end_meeting(std::uint32_t index) noexcept {
  Place& place = place_of(index);
  if (is_vfork_child()) return;  // the socket is the parent's to close
  if (place.segment.load() == nullptr)
    if (between::Link* const link = place.link.exchange(nullptr)) between::release(*link, 0);
  if (place.socket == 0) return;
  close_guest(place.socket - 1);
  place.socket = 0;
}

int announce_listener(int number) noexcept {
  Point own{};
  if (!point_of(SYS_getsockname, number, own) || own.port == 0 || !rules().may_accept(own.port) ||
      !may_hide())
    return -1;
  const Name name = listener_name(own.port);
  if (const int kept = take_mark(reinterpret_cast<const sockaddr*>(&name.address), name.length); kept >= 0)
    return kept;
  const int mark = unix_socket(SOCK_DGRAM);
  if (mark < 0) return -1;
  raw::sys(SYS_shutdown, mark, SHUT_RDWR);  // nobody can leave anything in it
  if (have_one_namespace(mark, number) && raw::sys(SYS_bind, mark, &name.address, name.length) == 0)
    return hide(mark);
  close_raw(mark);
  return -1;
}

}  // namespace exs::sockets
