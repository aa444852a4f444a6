#include "service/node/peer.h"

#include <algorithm>
#include <cerrno>

#include "service/names/statements.h"

namespace exs::svc {
namespace {

constexpr std::int64_t kPauseNs = 20 * kNsPerMs;

}  // namespace

Peer::Peer(PeerHost& host, Config config) : host_(host), config_(std::move(config)) {}

// ---------------------------------------------------------------- the program

int Peer::send(std::span<const Bytes> items) {
  if (outgoing_.is_full()) return EAGAIN;
  const std::optional<FrameMemory::Slot> slot = host_.memory().take();
  if (!slot) return ENOMEM;
  const Encoded frame = encode_data(host_.memory().room(*slot), alias_, 0, items);
  host_.memory().length_bytes(*slot) = static_cast<std::uint16_t>(frame.size());
  outgoing_.add(*slot);
  if (state_ == State::kOpen) send_all();
  begin();
  return 0;
}

int Peer::ping() {
  if (pinged_ns_ != 0) return EAGAIN;
  pinged_ns_ = now_ns();
  ++pings_;
  if (state_ == State::kOpen) send_ping();
  begin();
  return 0;
}

void Peer::close() {
  is_closed_ = true;
  pinged_ns_ = 0;
  if (state_ != State::kOpen || outgoing_.is_empty()) lose(0);
}

// ---------------------------------------------------------------- the way there

void Peer::begin() {
  if (state_ != State::kIdle || !has_work()) return;
  give_up_ns_ = after(now_ns(), config_.find_ns);
  error_ = ENOENT;
  search();
}

void Peer::search() {
  state_ = State::kFinding;
  search_ = host_.find(config_.target, give_up_ns_);
}

void Peer::found(std::uint64_t search, const std::vector<sockaddr_storage>& addresses) {
  if (state_ != State::kFinding || search != search_) return;
  if (addresses.empty()) return lose(error_);
  addresses_.assign(addresses.rbegin(), addresses.rend());
  try_next_address();
}

void Peer::try_next_address() {
  while (!addresses_.empty()) {
    const sockaddr_storage address = addresses_.back();
    addresses_.pop_back();
    link_ = host_.link_to(address);
    if (link_ == nullptr) continue;
    alias_ = link_->next_alias++;
    link_->peers.emplace(alias_, this);
    state_ = State::kLinking;
    if (link_->is_up()) open_flow();
    return;
  }
  pause(error_);
}

// What was found is not so, or not yet: the service may be about to move or to start.
void Peer::pause(int error) {
  error_ = error;
  const std::int64_t now = now_ns();
  if (now >= give_up_ns_) return lose(error_);
  state_ = State::kPausing;
  due_ns_ = std::min(after(now, kPauseNs), give_up_ns_);
  host_.wake_at(due_ns_);
}

void Peer::look_at_clock(std::int64_t now_ns) {
  if (now_ns < due_ns_) return;
  due_ns_ = kNever;
  if (state_ == State::kOpen) return send_all();
  if (state_ != State::kPausing) return;
  if (now_ns >= give_up_ns_) return lose(error_);
  search();
}

void Peer::link_is_up() {
  open_flow();
}

void Peer::open_flow() {
  state_ = State::kOpening;
  Flow flow{config_.target, config_.client, flow_number_, {}, {}};
  const Statement about = flow_statement(link_->nonces(), alias_, flow.target, flow.client, flow.flow_number);
  if (config_.from) flow.sender = Sender{config_.from->public_key(), config_.from->sign(about)};
  if (config_.capability) flow.capability = prove(*config_.capability, about);
  std::array<std::uint8_t, kFrameMax> room;
  link_->send(encode_flow(room, alias_, flow));
}

void Peer::link_has_gone(int error) {
  const State before = state_;
  link_ = nullptr;
  outgoing_.close();
  if (is_closed_) return lose(0);
  if (error != 0) error_ = error;
  if (before == State::kLinking) return try_next_address();
  if (before == State::kOpening) return pause(error == 0 ? ECONNRESET : error);
  state_ = State::kIdle;
  begin();
}

void Peer::leave_link() {
  if (link_ == nullptr) return;
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kFlowEnd, .flow = alias_}));
  link_->peers.erase(alias_);
  link_ = nullptr;
  outgoing_.close();
}

// ---------------------------------------------------------------- frames

void Peer::frame_arrived(const Header& header, Bytes frame) {
  const bool is_open = state_ == State::kOpen;
  if (header.type == FrameType::kFlowOk && state_ == State::kOpening) return opened(header, frame);
  if (header.type == FrameType::kFlowNo && (is_open || state_ == State::kOpening))
    return refused(header, frame);
  if (header.type == FrameType::kAck && is_open && is_bare(frame)) return acknowledged(header.ack);
  if (header.type == FrameType::kNack && is_open) return not_taken(header.number, frame);
  if (header.type == FrameType::kPong && is_open && is_bare(frame)) {
    if (header.number == pings_) answered(0);
    return;
  }
  link_->refuse();
}

void Peer::opened(const Header& header, Bytes frame) {
  const std::optional<FlowOk> ok = decode_flow_ok(frame);
  if (!ok || ok->instance == 0) return link_->refuse();
  const Statement flow =
      flow_statement(link_->nonces(), alias_, config_.target, config_.client, flow_number_);
  const Statement answer = answer_statement(flow, ok->instance, header.ack);
  if (id_of(ok->key) != config_.target || !is_signed(answer, ok->signature, ok->key)) return lose(EPROTO);
  const std::optional<std::size_t> lost = outgoing_.open(ok->instance, header.ack, giving_back());
  if (!lost) return link_->refuse();
  state_ = State::kOpen;
  if (*lost > 0) tell(EXS_SVC_EVT_RESTART, 0, *lost);
  send_all();
  if (pinged_ns_ != 0) send_ping();
}

void Peer::refused(const Header& header, Bytes frame) {
  const std::optional<Refusal> why = decode_refusal(frame);
  if (!why) return link_->refuse();
  const bool was_open = state_ == State::kOpen;
  if (was_open) {
    if (!outgoing_.accept(header.ack, giving_back())) return link_->refuse();
    outgoing_.take_back();
    // Messages may be under way, from memory that must not change before all of the link is gone.
    if (!outgoing_.is_empty()) return link_->end();
  }
  leave_link();
  if (is_closed_) return lose(0);
  if (*why == Refusal::kNotAllowed) return lose(EACCES);
  if (*why == Refusal::kTooMany) return lose(EDQUOT);
  if (!was_open) return pause(ENOENT);
  state_ = State::kIdle;
  begin();
}

void Peer::acknowledged(std::uint64_t number) {
  if (!outgoing_.accept(number, giving_back())) return link_->refuse();
  if (is_closed_ && outgoing_.is_empty()) lose(0);
}

void Peer::not_taken(std::uint64_t number, Bytes frame) {
  const std::optional<Refusal> why = decode_refusal(frame);
  if (!why) return link_->refuse();
  if (number == 0) return answered(EACCES);  // a ping
  if (!outgoing_.accept(number, giving_back())) return link_->refuse();
  tell(EXS_SVC_EVT_DROPPED, *why == Refusal::kNotAllowed ? EACCES : ENOBUFS, 1);
  if (is_closed_ && outgoing_.is_empty()) lose(0);
}

void Peer::answered(int error) {
  if (pinged_ns_ == 0) return;
  const std::int64_t elapsed_ns = now_ns() - std::exchange(pinged_ns_, 0);
  tell(EXS_SVC_EVT_PONG, error, 0, static_cast<std::uint64_t>(elapsed_ns));
}

void Peer::send_all() {
  while (state_ == State::kOpen) {
    const std::optional<Outgoing::Next> next = outgoing_.next();
    if (!next) return;
    FrameMemory& memory = host_.memory();
    const std::span<std::uint8_t> frame = memory.room(next->slot).first(memory.length_bytes(next->slot));
    renumber(frame, alias_, next->number);
    if (!link_->send_kept(frame, memory.region(next->slot))) return send_later();
    outgoing_.left();
  }
}

// When others of the link have been taken, or after a moment.
void Peer::send_later() {
  due_ns_ = after(now_ns(), kPauseNs);
  host_.wake_at(due_ns_);
}

void Peer::send_ping() {
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kPing, .flow = alias_, .number = pings_}));
}

// ---------------------------------------------------------------- the end

void Peer::lose(int error) {
  leave_link();
  const std::size_t lost = outgoing_.give_up(giving_back());
  pinged_ns_ = 0;
  state_ = State::kIdle;
  addresses_.clear();
  if (is_closed_) return host_.has_ended(*this);
  tell(EXS_SVC_EVT_LOST, error, lost);
}

void Peer::tell(std::int32_t type, std::int32_t error, std::uint64_t count, std::uint64_t elapsed_ns) {
  if (is_closed_) return;
  exs_svc_event_t event{};
  event.type = type;
  event.error = error;
  event.count = count;
  event.elapsed_ns = elapsed_ns;
  event.handle = config_.handle;
  event.peer = static_cast<exs_svc_peer*>(this);
  host_.tell(event);
}

}  // namespace exs::svc
