// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/peer.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/check.h"
#include "base/contain.h"
#include "service/names/address.h"
#include "service/names/statements.h"

namespace exs::svc {
namespace {

constexpr std::uint64_t kTryAgainNs = 20 * kNsPerMs;

}  // namespace

Peer::Peer(PeerHost& host, Config config)
    : host_(host), config_(std::move(config)), redirected_to_(config_.addresses) {
  host_.pending_acks().enroll();
}

// What may follow each state, in bits. A peer that is lost, or whose link breaks, is idle.
bool Peer::may_follow(State before, State next) noexcept {
  constexpr auto bit = [](State state) { return 1U << static_cast<unsigned>(state); };
  constexpr unsigned kLooking = bit(State::kIdle) | bit(State::kLinking) | bit(State::kPausing);
  constexpr unsigned kFollowers[] = {/* kIdle */ kLooking | bit(State::kFinding),
                                     /* kFinding */ kLooking,
                                     /* kPausing */ kLooking | bit(State::kFinding),
                                     /* kLinking */ kLooking | bit(State::kOpening),
                                     /* kOpening */ kLooking | bit(State::kOpen),
                                     /* kOpen */ bit(State::kIdle)};
  return (kFollowers[static_cast<std::size_t>(before)] & bit(next)) != 0;
}

void Peer::enter(State next) noexcept {
  EXS_CHECK(may_follow(state_, next));
  EXS_CHECK((link_ != nullptr) == (next >= State::kLinking));
  state_ = next;
}

// ---------------------------------------------------------------- the program

Status Peer::send(const Data& data, Transfer::Pieces longs, void* handle) {
  if (sending_.is_full()) return Status(EAGAIN);
  if (!sending_.add(data, std::move(longs), handle)) return Status(ENOMEM);
  begin_in_time();
  return {};
}

Status Peer::ping() {
  if (pinged_ns_ != 0) return Status(EAGAIN);
  pinged_ns_ = boottime_ns();
  ++pings_;
  if (state_ == State::kOpen) send_ping();
  begin_in_time();
  return {};
}

Status Peer::ask_stats() {
  if (asks_stats_) return Status(EAGAIN);
  asks_stats_ = true;
  ++infos_;
  if (state_ == State::kOpen) send_info();
  begin_in_time();
  return {};
}

void Peer::close() {
  is_closed_ = true;
  pinged_ns_ = 0;
  asks_stats_ = false;
  drop_requests();
  sending_.give_up_waiting();
  if (sending_.is_moving() || receiving_.is_moving()) return link_->end();
  if (lane_ != nullptr) return lane_->end();
  if (state_ != State::kOpen || sending_.is_empty()) lose(0);
}

// ---------------------------------------------------------------- the way there

void Peer::begin() {
  if (state_ != State::kIdle || !has_work()) return;
  patience_.wait_for(config_.find_ns, boottime_ns());
  silences_.connects = 0;
  error_ = ENOENT;
  search();
}

// What the program has given stays here in any case, so a lack of memory is no error of its call: it leaves in a moment.
void Peer::begin_in_time() noexcept {
  contain(
      [this] {
        if (state_ == State::kOpen) return send_all();
        begin();
      },
      [this] { out_of_memory(); });
}

void Peer::out_of_memory() noexcept {
  if (link_ != nullptr) {
    link_->end(ENOMEM);  // link_has_gone() follows
  } else {
    rest(boottime_ns());
  }
}

void Peer::search() {
  epoch_ = 0;
  if (!redirected_to_.empty()) {
    addresses_ = std::exchange(redirected_to_, {});
    return try_next_address();
  }
  enter(State::kFinding);
  patience_.note_search();
  search_ = host_.find(config_.target, patience_.limit_ns());
}

void Peer::found(std::uint64_t search, const std::vector<sockaddr_storage>& addresses,
                 const std::optional<Record>& record) {
  if (beyond_ != 0 && search == beyond_) return found_beyond(record);
  if (state_ != State::kFinding || search != search_) return;
  if (addresses.empty()) return lose(error_);
  place_epoch_ = record ? record->epoch : 0;
  addresses_.assign(addresses.rbegin(), addresses.rend());
  // The previous address comes last: nobody may answer there any more.
  std::stable_partition(addresses_.begin(), addresses_.end(),
                        [this](const sockaddr_storage& address) { return key_of(address) == broken_; });
  try_next_address();
}

void Peer::try_next_address() {
  while (!addresses_.empty()) {
    const sockaddr_storage address = addresses_.back();
    addresses_.pop_back();
    Link* const link = host_.link_to(address, silences_).value_or(nullptr);
    log_connecting(address, link);
    if (link == nullptr) continue;
    linked_by_ns_ = time_after(boottime_ns(), host_.silent_ns() << silences_.connects);
    alias_ = link->next_alias++;
    link->peers.emplace(alias_, this);
    link_ = link;
    enter(State::kLinking);
    if (link_->is_up()) open_flow();
    return;
  }
  pause();
}

// The search result was wrong or early: the service may be about to move or to start.
void Peer::pause() {
  const std::uint64_t now = boottime_ns();
  if (patience_.is_over(now)) return lose(error_);
  rest(now);
}

void Peer::rest(std::uint64_t now) {
  enter(State::kPausing);
  due_ns_ = std::min(time_after(now, kTryAgainNs), patience_.limit_ns());
  host_.wake_at(due_ns_);
}

std::uint64_t Peer::due_ns() const noexcept {
  std::uint64_t due_ns = std::min(due_ns_, sign_due_ns_);
  for (const Request& request : requests_) due_ns = std::min(due_ns, request.limit_ns);
  return due_ns;
}

void Peer::run_timers(std::uint64_t now_ns) {
  end_late_requests(now_ns);
  if (now_ns >= sign_due_ns_) look_for_signs(now_ns);
  if (now_ns < due_ns_) return;
  const std::uint64_t due_ns = std::exchange(due_ns_, kNeverNs);
  if (state_ == State::kOpen) return send_all();
  if (state_ != State::kPausing) return;
  patience_.look(due_ns, now_ns);
  if (patience_.is_over(now_ns)) return lose(error_);
  search();
}

void Peer::link_is_up() {
  open_flow();
}

void Peer::open_flow() {
  enter(State::kOpening);
  Flow flow{config_.target, config_.client, flow_number_, sending_.instance(), {}, {}};
  const Statement about = flow_statement(link_->nonces(), alias_, flow.target, flow.client, flow.flow_number);
  if (config_.from) flow.sender = Sender{config_.from->public_key(), config_.from->sign(about)};
  if (config_.capability) flow.capability = prove(*config_.capability, about);
  std::array<std::uint8_t, kFrameMax> room;
  link_->send(encode_flow(room, alias_, flow, receiving_.accepted()));
  receiving_.note_acknowledged();
}

void Peer::link_has_gone(int error) {
  const State before = state_;
  log_gone();
  note_silence(before, boottime_ns());
  Link* const gone = std::exchange(link_, nullptr);
  enter(State::kIdle);
  if (before == State::kOpen) broken_ = gone->address_key();
  has_had_lane_ = false;
  sending_.close();
  receiving_.leave();
  end_waiting_requests();
  if (is_closed_) return lose(0);
  if (error != 0) error_ = error;
  if (before == State::kLinking) return try_next_address();
  if (before == State::kOpening) {
    if (error == 0) error_ = ECONNRESET;
    return try_next_address();
  }
  begin();
}

void Peer::leave_link() {
  if (link_ == nullptr) return;
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kFlowEnd, .flow = alias_}));
  link_->peers.erase(alias_);
  link_ = nullptr;
  has_had_lane_ = false;
  sign_due_ns_ = kNeverNs;
  sending_.close();
  receiving_.leave();
}

// ---------------------------------------------------------------- frames

void Peer::frame_arrived(const Header& header, Bytes frame) {
  const bool is_open = state_ == State::kOpen;
  gave_sign_ = true;
  if (header.type == FrameType::kFlowOk && state_ == State::kOpening) return opened(header, frame);
  if (header.type == FrameType::kFlowNo && (is_open || state_ == State::kOpening))
    return refused(header, frame);
  if (header.type == FrameType::kData && is_open) return data_arrived(header, frame);
  if (header.type == FrameType::kAck && is_open && is_bare(frame)) return acknowledged(header.ack);
  if (header.type == FrameType::kNack && is_open) return not_taken(header.number, frame);
  if (header.type == FrameType::kPong && is_open && is_bare(frame)) {
    if (header.number == pings_) answered(0);
    return;
  }
  if (header.type == FrameType::kStats && is_open) return stats_arrived(header, frame);
  link_->refuse();
}

void Peer::opened(const Header& header, Bytes frame) {
  const std::optional<FlowOk> ok = decode_flow_ok(frame, header);
  if (!ok || ok->instance == 0) return link_->refuse();
  const Statement flow =
      flow_statement(link_->nonces(), alias_, config_.target, config_.client, flow_number_);
  const Statement answer = answer_statement(flow, ok->instance, header.ack, ok->is_known);
  if (id_of(ok->key) != config_.target || !is_signed(answer, ok->signature, ok->key)) return lose(EPROTO);
  const Outgoing::Opening opening = sending_.open(*link_, alias_, ok->instance, header.ack, ok->is_known);
  if (opening == Outgoing::Opening::kProtocolError) return link_->refuse();
  enter(State::kOpen);
  log_open();
  watch_signs();
  void_requests_of_nobody();
  if (opening == Outgoing::Opening::kAnotherLife) {
    receiving_.start_again();
    send_requests_again();
  }
  want_lane();
  if (unknown_ > 0) report(EXS_SVC_EVT_RESTART, 0, std::exchange(unknown_, 0));
  send_all();
  if (pinged_ns_ != 0) send_ping();
  if (asks_stats_) send_info();
}

void Peer::refused(const Header& header, Bytes frame) {
  const std::optional<FlowRefusal> refusal = decode_flow_no(frame);
  if (!refusal) return link_->refuse();
  const Refusal why = refusal->why;
  log_refused(why);
  const bool was_open = state_ == State::kOpen;
  bool is_redirected = false;
  if (why == Refusal::kMoved) {
    const std::optional<Record> record = decode_record(refusal->record, config_.target);
    if (!record) return link_->refuse();
    is_redirected = was_open || record->epoch > epoch_;  // so records cannot lead in circles
    if (is_redirected) {
      epoch_ = place_epoch_ = record->epoch;
      redirected_to_.assign(record->addresses.rbegin(), record->addresses.rend());
    }
  }
  if (was_open) {
    if (!sending_.accept(header.ack)) return link_->refuse();
    sending_.take_back();
    // Messages may be under way, from memory that must not change before the link is gone.
    if (!sending_.is_empty() || is_moving()) return link_->end();
  }
  leave_link();
  if (is_closed_) return lose(0);
  if (why == Refusal::kNotAllowed) return lose(EACCES);
  if (why == Refusal::kTooMany) return lose(EDQUOT);
  if (!was_open && is_redirected) {
    addresses_ = std::exchange(redirected_to_, {});
    return try_next_address();
  }
  if (!was_open) {
    error_ = ENOENT;
    return try_next_address();
  }
  enter(State::kIdle);
  begin();
}

void Peer::acknowledged(std::uint64_t number) {
  if (!sending_.accept(number)) return link_->refuse();
  leave_if_done();
}

void Peer::leave_if_done() {
  if (is_closed_ && sending_.is_empty() && !is_moving()) lose(0);
}

void Peer::not_taken(std::uint64_t number, Bytes frame) {
  const std::optional<Refusal> why = decode_nack(frame);
  if (!why) return link_->refuse();
  if (number == 0) {  // a refused PING or INFO; a sender that may not do one may not do the other
    if (pinged_ns_ != 0) return answered(EACCES);
    return report_stats({}, EACCES);
  }
  if (!sending_.refused(number, *why == Refusal::kNotAllowed ? EACCES : ENOBUFS)) return link_->refuse();
  leave_if_done();
}

// A reply also acknowledges messages, as an ACK does.
void Peer::data_arrived(const Header& header, Bytes frame) {
  if (!sending_.accept(header.ack)) return link_->refuse();
  switch (receiving_.take(*link_, header, frame)) {
    case Receiving::Result::kTaken: break;
    case Receiving::Result::kAgain: host_.pending_acks().add(*this); break;
    case Receiving::Result::kProtocolError: return link_->refuse();
  }
  leave_if_done();
}

std::uint64_t Peer::accepted() {
  receiving_.note_acknowledged();
  return receiving_.accepted();
}

void Peer::acknowledge() {
  if (state_ != State::kOpen || !receiving_.owes_ack()) return;
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kAck, .flow = alias_, .ack = accepted()}));
}

// ---------------------------------------------------------------- what has become of messages

void Peer::message_ended(Slot slot, Fate fate) {
  const Kept& kept = memory().kept(slot);
  if ((kept.kind & kIsRequest) != 0) {
    if (Request* const request = find_request(kept.call)) return request_ended(*request, slot, fate);
  } else if (!kept.longs.empty()) {
    report_sent(kept, fate);
  } else if (fate == Fate::kTaken) {
    if (kept.error != 0) report(EXS_SVC_EVT_DROPPED, kept.error, 1);
  } else if (kept.kind != kIsVoid) {
    ++(fate == Fate::kUnknown ? unknown_ : lost_);
  }
  memory().give_back(slot);
}

void Peer::report_sent(const Kept& kept, Fate fate) {
  if (is_closed_) return;
  exs_svc_event_t event{};
  event.type = EXS_SVC_EVT_SENT;
  event.error = fate == Fate::kTaken ? kept.error : fate == Fate::kUnknown ? EOWNERDEAD : loss_;
  event.handle = kept.handle;
  event.peer = static_cast<exs_svc_peer*>(this);
  host_.report(event);
}

void Peer::answered(int error) {
  if (pinged_ns_ == 0) return;
  report(EXS_SVC_EVT_PONG, error, 0, boottime_ns() - pinged_ns_);
  pinged_ns_ = 0;
}

void Peer::stats_arrived(const Header& header, Bytes frame) {
  const std::optional<Stats> stats = decode_stats(frame);
  if (!stats) return link_->refuse();
  if (header.number == infos_) report_stats(*stats, 0);
}

void Peer::report_stats(const Stats& stats, int error) {
  if (!asks_stats_) return;
  if (!is_closed_) host_.make_room_for_events(1);
  asks_stats_ = false;
  if (is_closed_) return;
  const exs_svc_stats_t said{stats.open_ns,       stats.messages, stats.replies,     stats.mailbox,
                             stats.requests_open, stats.flows,    stats.windows_free};
  Items items;
  items.count = 1;
  items.item[0] = {reinterpret_cast<const std::uint8_t*>(&said), sizeof said};
  exs_svc_event_t event{};
  event.type = EXS_SVC_EVT_STATS;
  event.handle = config_.handle;
  event.peer = static_cast<exs_svc_peer*>(this);
  if (error == 0) event.message = make_message({config_.target, &items, {}, {}, {}, {}, 0});
  event.error = error == 0 && event.message == nullptr ? ENOMEM : error;
  host_.report(event);
}

void Peer::send_all() {
  if (state_ == State::kOpen && !sending_.send_all()) send_later();
}

// Tries again when room on the link is free, or after a moment.
void Peer::send_later() {
  due_ns_ = time_after(boottime_ns(), kTryAgainNs);
  host_.wake_at(due_ns_);
}

void Peer::send_ping() {
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kPing, .flow = alias_, .number = pings_}));
}

void Peer::send_info() {
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kInfo, .flow = alias_, .number = infos_}));
}

// ---------------------------------------------------------------- the end

void Peer::lose(int error) {
  if (!is_closed_) host_.make_room_for_events(1 + requests_.size() + sending_.count());
  leave_link();
  loss_ = error;
  log_lost(error);
  sending_.give_up();
  end_all_requests(error);
  const std::size_t lost = std::exchange(lost_, 0) + std::exchange(unknown_, 0);
  pinged_ns_ = 0;
  asks_stats_ = false;
  enter(State::kIdle);
  addresses_.clear();
  if (is_closed_) return host_.has_ended(*this);
  report(EXS_SVC_EVT_LOST, error, lost);
}

void Peer::report(std::int32_t type, std::int32_t error, std::uint64_t count, std::uint64_t elapsed_ns) {
  if (is_closed_) return;
  exs_svc_event_t event{};
  event.type = type;
  event.error = error;
  event.count = count;
  event.elapsed_ns = elapsed_ns;
  event.handle = config_.handle;
  event.peer = static_cast<exs_svc_peer*>(this);
  host_.report(event);
}

}  // namespace exs::svc
