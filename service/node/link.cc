// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/link.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "service/names/address.h"
#include "service/names/key.h"
#include "service/names/patience.h"

namespace exs::svc {
namespace {

constexpr int kFramesUnderWay = 64;
constexpr int kOperationsMax = 2048;
// Long items up to this length travel in a message of the bulk, instead of being advertised and read.
constexpr std::size_t kLongsInMessage = 16384;
constexpr int kLongsUnderWay = 8;
static_assert(kLongsUnderWay * kLongsInMessage <= kFramesUnderWay * kFrameMax);
constexpr std::string_view kLabel = "service";  // in exs-top
constexpr int kGentlyMs = 1000;
constexpr std::uint64_t kCloseAgainNs = 10 * kNsPerMs;
// An end that takes no more has to end the link within this.
constexpr std::uint64_t kEndNs = 10'000 * kNsPerMs;
constexpr std::uint64_t kGreetingNs = 2000 * kNsPerMs;
constexpr std::uint64_t kSecondLookNs = 100 * kNsPerMs;

void set_option(int socket, int option, int value) {
  exs_setsockopt(socket, SOL_EXS, option, &value, sizeof value);
}

void set_limits(int socket, std::size_t message_bytes, int messages) {
  exs_fcntl(socket, EXS_F_SET_SMALL_MAX, message_bytes);
  exs_fcntl(socket, EXS_F_SET_SEND_CREDITS, messages);
  exs_fcntl(socket, EXS_F_SET_RECV_CREDITS, messages);
}

// The link would take too much of the memory that an acceptor has for frames.
bool takes_too_much(int socket) {
  std::size_t message_bytes = 0;
  int messages = 0;
  return exs_fcntl(socket, EXS_F_GET_SMALL_MAX, &message_bytes) != 0 ||
         exs_fcntl(socket, EXS_F_GET_RECV_CREDITS, &messages) != 0 ||
         message_bytes * static_cast<std::size_t>(messages) > kFramesUnderWay * kFrameMax;
}

}  // namespace

int make_link_socket(int family) {
  const int socket = exs_socket(family, SOCK_SEQPACKET, 0);
  if (socket < 0) return -1;
  set_limits(socket, kFrameMax, kFramesUnderWay);
  exs_setsockopt(socket, SOL_EXS, EXS_SO_LABEL, kLabel.data(), kLabel.size());
  exs_fcntl(socket, EXS_F_SET_MAX_OPS, kOperationsMax);
  return socket;
}

void let_bulks_connect(int listener) {
  set_limits(listener, kLongsInMessage, kFramesUnderWay);
}

void close_at_once(int socket) noexcept {
  set_option(socket, EXS_SO_LINGER_MS, 0);
  exs_close(socket);
}

Link::~Link() {
  if (socket_ >= 0) close_at_once(socket_);
}

// What may follow each state, in bits.
bool Link::may_follow(State before, State next) noexcept {
  constexpr auto bit = [](State state) { return 1U << static_cast<unsigned>(state); };
  constexpr unsigned kFollowers[] = {
      /* kIdle */ bit(State::kConnecting) | bit(State::kGreeting) | bit(State::kEnding),
      /* kConnecting */ bit(State::kGreeting) | bit(State::kGreetingPartner) | bit(State::kEnding),
      /* kGreeting */ bit(State::kHandingOver) | bit(State::kUp) | bit(State::kEnding),
      /* kGreetingPartner */ bit(State::kUp) | bit(State::kEnding),
      /* kHandingOver */ bit(State::kUp) | bit(State::kEnding),
      /* kUp */ bit(State::kEnding),
      /* kEnding */ bit(State::kGone),
      /* kGone */ 0};
  return (kFollowers[static_cast<std::size_t>(before)] & bit(next)) != 0;
}

void Link::enter(State next) noexcept {
  EXS_CHECK(may_follow(state_, next));
  state_ = next;
}

Status Link::connect(const sockaddr_storage& address, int limit_ms) {
  address_ = address;
  address_key_ = key_of(address);
  is_initiator_ = true;
  socket_ = make_link_socket(address.ss_family);
  if (socket_ < 0) return Status(errno);
  if (is_bulk()) set_limits(socket_, kLongsInMessage, kLongsUnderWay);
  set_option(socket_, EXS_SO_CONNECT_TIMEOUT_MS, limit_ms);
  is_on_this_host_ = is_own_address(*as_sockaddr(address));
  if (exs_connect(socket_, as_sockaddr(address), address_bytes(address), 0, queue_, handle()) != 0)
    return Status(errno);
  enter(State::kConnecting);
  return {};
}

Status Link::own(int socket) {
  socket_ = socket;
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  if (exs_getpeername(socket_, as_sockaddr(from), &length) != 0) return Status(errno);
  host_ = host_of(from);
  is_on_this_host_ = is_own_address(*as_sockaddr(from));
  return {};
}

Status Link::accept() {
  return takes_too_much(socket_) ? Status(EPROTO) : begin();
}

Status Link::begin() {
  enter(State::kGreeting);
  watch_silence();
  // An acceptor's program may be computing, so only the initiator gets a time limit.
  if (!is_initiator_) expect_until(time_after(boottime_ns(), kGreetingNs));
  if (exs_recv_pooled(socket_, pool_, 0, queue_, handle()) != 0) return Status(errno);
  greet();
  return {};
}

void Link::greet() {
  Hello hello;
  fill_random(hello.nonce);
  our_nonce_ = hello.nonce;
  std::array<std::uint8_t, kFrameMax> room;
  send(encode_hello(room, hello));
}

void Link::take(const exs_event_t& event) {
  if (event.exs_evt_type == EXS_EVT_CLOSE) return has_closed();
  if (event.exs_evt_type == EXS_EVT_PEER_WRITE) {
    if (state_ == State::kUp && lane_client_ != nullptr)
      lane_client_->lane_was_written(event.exs_evt_union.exs_evt_xfer.exs_evt_count);
    return;
  }
  if (event.exs_evt_type == EXS_EVT_RECV && (event.exs_evt_flags & EXS_EVF_MORE) != 0) return received(event);
  if (event.exs_evt_errno == ETIMEDOUT) was_silent_ = true;
  if (state_ == State::kEnding) return;
  if (is_partner() && event.exs_evt_type == EXS_EVT_RECV) return on_partner_event(event);
  const bool is_connected = event.exs_evt_type == EXS_EVT_CONNECT && event.exs_evt_errno == 0;
  if (!is_connected || !(is_partner() ? begin_partner() : begin()).ok()) end();
}

void Link::run_timers(std::uint64_t now_ns) {
  if (now_ns < due_ns_) return;
  const std::uint64_t late_ns = now_ns - std::exchange(due_ns_, kNeverNs);
  if (state_ == State::kEnding) return begin_to_close();
  if (std::exchange(is_second_look_, true) || late_ns < Patience::kLateNs) return end();
  // The expected event may have arrived while this process had no processor or the program computed, and be the next in the queue.
  due_ns_ = time_after(now_ns, std::min(late_ns, kSecondLookNs));
  client_.wake_at(due_ns_);
}

void Link::expect_until(std::uint64_t time_ns) {
  is_second_look_ = false;
  due_ns_ = time_ns;
  client_.wake_at(time_ns);
}

void Link::received(const exs_event_t& event) {
  auto* const memory = static_cast<std::uint8_t*>(event.exs_evt_union.exs_evt_xfer.exs_evt_buf);
  const auto give_back = [this](std::uint8_t* buffer) { exs_pool_return(pool_, buffer); };
  const std::unique_ptr<std::uint8_t, decltype(give_back)> until_done(memory, give_back);
  const Bytes frame(memory, event.exs_evt_union.exs_evt_xfer.exs_evt_length);
  const std::optional<Header> header = decode_header(frame);
  if (state_ == State::kEnding) {
    // The link is closing: the frame is dropped.
  } else if (!header || (event.exs_evt_flags & EXS_EVF_TRUNC) != 0 || is_partner()) {
    refuse();
  } else if (state_ == State::kGreeting) {
    take_greeting(frame, *header);
  } else if (header->type == FrameType::kWantBulk && is_initiator_) {
    if (!is_bare(frame)) return refuse();
    want_bulk();
  } else {
    client_.frame_arrived(*this, *header, frame);
  }
}

void Link::take_greeting(Bytes frame, const Header& header) {
  if (header.type != FrameType::kHello) return refuse();
  const std::optional<Hello> hello = decode_hello(frame);
  if (!hello || hello->version != kProtocolVersion || (hello->is_of_bulk && is_initiator_) ||
      (hello->is_of_lane && is_initiator_))
    return refuse();
  due_ns_ = kNeverNs;
  if (hello->is_of_lane) return client_.lane_asked_for(*this, *hello);
  if (hello->is_of_bulk) return client_.bulk_asked_for(*this, hello->nonce);
  their_nonce_ = hello->nonce;
  enter(State::kUp);
  client_.link_is_up(*this);
}

void Link::send(Encoded frame) {
  if (state_ != State::kUp && state_ != State::kGreeting && state_ != State::kGreetingPartner) return;
  if (exs_send(socket_, frame.data(), frame.size(), EXS_NO_EVENT, queue_, send_handle(),
               EXS_MHANDLE_UNREGISTERED) != 0)
    send_failed(errno);
}

bool Link::send_kept(Encoded frame, exs_mhandle_t region) {
  if (state_ != State::kUp) return false;
  if (exs_send(socket_, frame.data(), frame.size(), EXS_NO_EVENT, queue_, send_handle(), region) == 0)
    return true;
  had_no_room_ = errno == EAGAIN;
  if (!had_no_room_) send_failed(errno);
  return false;
}

// An end that closes takes no more. What it sent before is still to come, and then the end of the link. A lane has nothing to come, and
// ends alone.
void Link::send_failed(int error) {
  Link& link = is_bulk() && partner_ != nullptr ? *partner_ : *this;
  if (error != EPIPE || link.state_ != State::kUp || role_ == LinkRole::kLane) return end();
  if (link.due_ns_ == kNeverNs) link.expect_until(time_after(boottime_ns(), kEndNs));
}

void Link::end(int error) {
  close_within(0, error);
}

void Link::end_gently() {
  close_within(state_ == State::kUp ? kGentlyMs : 0, 0);
}

void Link::close_within(int linger_ms, int error) {
  if (state_ == State::kEnding || socket_ < 0) return;
  enter(State::kEnding);
  error_ = error;
  set_option(socket_, EXS_SO_LINGER_MS, linger_ms);
  begin_to_close();
  if (role_ == LinkRole::kLane) return;
  if (partner_ != nullptr) partner_->close_within(linger_ms, error);
  for (Link* const lane : lanes_) lane->close_within(linger_ms, error);
}

void Link::begin_to_close() {
  due_ns_ = kNeverNs;
  if (exs_close_async(socket_, 0, queue_, handle()) == 0) return;
  // The queue has no slot for the event yet; a wait makes room.
  due_ns_ = time_after(boottime_ns(), kCloseAgainNs);
  client_.wake_at(due_ns_);
}

// A link has gone when its bulk and its lanes have.
void Link::has_closed() {
  socket_ = -1;
  enter(State::kGone);
  end_transfers();
  if (role_ == LinkRole::kLane) return lane_has_ended();
  Link& link = is_bulk() ? *partner_ : *this;
  if (link.has_all_gone()) client_.link_has_gone(link);
}

}  // namespace exs::svc
