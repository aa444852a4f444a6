// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/message/message_receive.h"

#include <algorithm>

#include "base/check.h"
#include "base/guarded_copy.h"
#include "src/log/log.h"
#include "src/proto/immediate.h"

namespace exs::proto {

using wire::AckStatus;
using wire::MessageType;
using Kind = Delivery::Kind;
using Source = MessageSource;

namespace {

// Takes the next message as it comes.
bool is_plain(const Operation& receive) {
  return !receive.persistent && !receive.at_offset;
}

}  // namespace

MessageReceives::MessageReceives(ShortPath& path, Slots& slots, const Agreement& agreement,
                                 std::uint64_t chunk_bytes)
    : ReceiveSide(path.link, path.counters, agreement, chunk_bytes),
      path_(path),
      arrived_(slots, path),
      deliveries_(path.counters, reads_),
      persistent_receive_(path.link, path.counters, deliveries_),
      peer_window_(Direction::kReceive) {}

bool MessageReceives::post(const Operation& operation) {
  int error = 0;
  const bool is_owned =
      open_persistent_ > 0 || (persistent_receive_.is_active() && !persistent_receive_.is_revoked());
  if (operation.persistent && !operation.vector.empty()) {
    error = EINVAL;
  } else if (is_owned || (operation.persistent && peer_window_.is_active())) {
    error = EBUSY;
  }
  if (state_ == State::kStopped || error != 0) {
    deliveries_.add_end(operation, state_ == State::kStopped ? stop_outcome_ : Outcome{error, 0, 0});
    return true;
  }
  path_.receives.append() = operation;
  if (operation.persistent) ++open_persistent_;
  return state_ != State::kOpen || !arrived_.empty() || persistent_receive_.is_active() ||
         !is_plain(operation);
}

// ---------------------------------------------------------------- from the peer

Status MessageReceives::on_data(const wire::Message& message, std::uint64_t slot,
                                std::uint32_t message_bytes) {
  if (const Status status = arrived_.admit(message); !status.ok()) return status;
  if (peer_window_.is_held()) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: data message {} behind the persistent {}",
                 message.header.sequence, peer_window_.id());
  }
  offsets_cancelled_ = false;
  return message.header.type == MessageType::kImmediate ? on_immediate(slot, message_bytes)
                                                        : on_advert(message, slot, message_bytes);
}

bool MessageReceives::receive_waits() noexcept {
  return has_nothing_before_receives() && state_ == State::kOpen && !path_.receives.empty() &&
         is_plain(path_.receives.front());
}

bool MessageReceives::take(const wire::Header& header, const ArrivingMessage& message, OutcomeSink& sink) {
  const std::size_t payload_bytes = message.length_bytes() - wire::kHeaderBytes;
  EXS_DEBUG_CHECK(is_plain_and_quiet());
  if (path_.receives.empty() || !is_plain(path_.receives.front()) ||
      !path_.may_admit(header.sequence, payload_bytes))
    return false;
  path_.pass_through();
  take_immediate(message, path_.receives.front(), direct_outcome_);
  deliver_direct(sink);
  return true;
}

Status MessageReceives::on_immediate(std::uint64_t slot, std::uint32_t message_bytes) {
  if (receive_waits()) return take_directly(slot, message_bytes);
  arrived_.keep_immediate(slot, message_bytes);
  return {};
}

Status MessageReceives::on_advert(const wire::Message& message, std::uint64_t slot,
                                  std::uint32_t message_bytes) {
  ++path_.counters.adverts_received;
  const bool is_persistent = (message.header.flags & wire::kPersistent) != 0;
  const bool busy = is_persistent && owns_direction();
  if (!is_persistent || busy || state_ == State::kStopped) {
    if (is_persistent) peer_window_.refused(message.header.sequence);
    return arrived_.keep_advert(message, Source::kAdvert, busy, slot, message_bytes);
  }
  peer_window_.accept(message);
  return arrived_.keep_advert(message, Source::kWindow, false, slot, message_bytes);
}

Status MessageReceives::take_directly(std::uint64_t slot, std::uint32_t message_bytes) {
  take_immediate(ArrivingMessage(arrived_.bytes_in(slot, message_bytes)), path_.receives.front(),
                 direct_outcome_);
  if (const Status status = arrived_.free_unkept_immediate(slot); !status.ok()) return status;
  taken_directly_ = true;
  return {};
}

void MessageReceives::on_read_done() {
  const Delivery* const done = deliveries_.on_read_done();
  if (done == nullptr) return;
  if (done->kind == Kind::kPersistentPart) persistent_receive_.on_part_read();
  if (done->source != Source::kWindow || done->outcome.error != 0) return;
  peer_window_.count_use(done->outcome.length_bytes, done->operation.at_offset ? done->operation.offset : 0);
}

Status MessageReceives::on_control(const wire::Message& message) {
  return message.header.type == MessageType::kRevoke ? on_revoke(message)
                                                     : persistent_receive_.on_control(message);
}

Status MessageReceives::on_revoke(const wire::Message& message) {
  const Result<bool> is_revoked = peer_window_.on_revoke(message);
  if (!is_revoked) return is_revoked.error();
  if (!*is_revoked) return {};
  offsets_cancelled_ = true;
  arrived_.revoke_window(deliveries_.cancel_window_reads());
  return {};
}

// An advert that has met a receive, or an answer, ends as it would have without the recall.
Status MessageReceives::on_recall(const wire::Message& message) {
  const Result<bool> recalled = arrived_.recall(message.header.sequence);
  if (!recalled) return recalled.error();
  return recall_answer_.make(message.header.sequence, *recalled);
}

// ---------------------------------------------------------------- matching

Status MessageReceives::match() {
  if (state_ == State::kStopped) return refuse_waiting();
  for (;;) {
    const Result<bool> moved = match_one();
    if (!moved) return moved.error();
    if (!*moved) break;
  }
  if (state_ != State::kPeerEnded || !arrived_.empty()) return {};
  if (persistent_receive_.is_active() && !persistent_receive_.is_advertised())
    persistent_receive_.end({0, 0, kEndOfStream});
  if (!persistent_receive_.is_active()) end_open_receives({0, 0, kEndOfStream});
  return {};
}

// False: nothing more can be done now.
Result<bool> MessageReceives::match_one() {
  deliveries_.make_room(1);  // so that no receive is lost on its way there
  if (!arrived_.empty() && arrived_.front().busy) {
    const Status status = answer(arrived_.pop_front(), AckStatus::kBusy);
    if (!status.ok()) return failure(status);
    return true;
  }
  if (persistent_receive_.is_active()) return write_into_persistent_receive();
  if (path_.receives.empty()) return false;
  if (path_.receives.front().persistent) return activate_persistent_receive();
  if (arrived_.empty()) {
    if (!path_.receives.front().at_offset || !offsets_cancelled_) return false;
    deliveries_.add_end(path_.receives.pop_front(), {ECANCELED, 0, 0});
    return true;
  }
  if (arrived_.front().source == Source::kWindow) {
    read_window(path_.receives.pop_front());
    return true;
  }
  if (arrived_.front().source == Source::kRevoked) return match_revoked();
  return match_message();
}

Result<bool> MessageReceives::match_message() {
  Status status;
  if (arrived_.front().at_offset) {
    status = answer(arrived_.pop_front(), AckStatus::kNotPersistent);
  } else if (path_.receives.front().at_offset) {
    deliveries_.add_end(path_.receives.pop_front(), {EINVAL, 0, 0});
  } else {
    const Operation operation = path_.receives.pop_front();
    const ArrivedMessage message = arrived_.pop_front();
    status = message.source == Source::kAdvert ? start_advert(operation, message, Kind::kReceive)
                                               : start_immediate(operation, message, Kind::kReceive);
  }
  if (!status.ok()) return failure(status);
  return true;
}

bool MessageReceives::match_revoked() {
  const bool at_offset = path_.receives.front().at_offset;
  const bool is_last = arrived_.count() == 1;
  if (!at_offset || is_last) deliveries_.add_end(path_.receives.pop_front(), {ECANCELED, 0, 0});
  // A receive at an offset needs only that the peer has sent something since.
  if (!at_offset || !is_last) arrived_.pop_front();
  return true;
}

bool MessageReceives::activate_persistent_receive() {
  if (peer_window_.is_held()) return false;
  persistent_receive_.activate(path_.receives.pop_front());
  --open_persistent_;
  return true;
}

Result<bool> MessageReceives::write_into_persistent_receive() {
  if (arrived_.empty() || !persistent_receive_.takes_message()) return false;
  const ArrivedMessage message = arrived_.pop_front();
  if (message.source == Source::kRevoked) return true;
  const Result<Operation> target = persistent_receive_.target(message);
  Status status;
  if (!target) {
    status = answer(message, AckStatus::kOutOfRange);
  } else if (message.source == Source::kImmediate) {
    status = start_immediate(*target, message, Kind::kPersistentPart);
  } else {
    status = start_advert(*target, message, Kind::kPersistentPart);
  }
  if (!status.ok()) return failure(status);
  return true;
}

Status MessageReceives::start_advert(const Operation& operation, const ArrivedMessage& message, Kind kind) {
  const std::uint64_t offered = message.length_bytes;
  const std::uint64_t taken = std::min<std::uint64_t>(offered, operation.memory.length_bytes);
  Outcome outcome{0, taken, kEndOfMessage};
  if (taken < offered) {
    outcome.flags |= kTruncated;
    outcome.whole_bytes = offered;
  }
  deliveries_.add_reads(
      {kind, false, Source::kAdvert, AckStatus::kTaken, message.sequence, operation, outcome}, message.window,
      arrived_.list_of(message));
  if (kind == Kind::kPersistentPart) persistent_receive_.add_part(taken, taken > 0);
  return arrived_.free_list(message);
}

Status MessageReceives::start_immediate(const Operation& operation, const ArrivedMessage& message,
                                        Kind kind) {
  Outcome outcome;
  try {
    take_immediate(ArrivingMessage(arrived_.bytes_in(message.slot, message.message_bytes)), operation,
                   outcome);
  } catch (const MemoryGone&) {
    // The receive has left its queue, so the end of the connection would not reach it.
    if (kind == Kind::kReceive) deliveries_.add_end(operation, {EFAULT, 0, 0});
    throw;
  }
  if (kind == Kind::kPersistentPart) persistent_receive_.add_part(outcome.length_bytes, false);
  deliveries_.add_finished({kind, true, Source::kImmediate, AckStatus::kTaken, 0, operation, outcome});
  return arrived_.free_immediate(message);
}

// At an offset the whole memory is filled, or nothing.
std::uint64_t MessageReceives::window_bytes_for(const Operation& operation) const noexcept {
  const std::uint64_t bytes = operation.memory.length_bytes;
  return operation.at_offset ? bytes : std::min(bytes, peer_window_.length_bytes());
}

bool MessageReceives::read_now(const Operation& operation, Outcome& outcome) {
  const bool is_next = state_ == State::kOpen && path_.receives.empty() && deliveries_.empty() &&
                       cancelled_.empty() && !persistent_receive_.is_active();
  const bool is_window = peer_window_.is_active() && !peer_window_.wants_notices() && !arrived_.empty() &&
                         arrived_.front().source == Source::kWindow;
  if (!is_next || !is_window || operation.persistent || !operation.vector.empty()) return false;
  const std::uint64_t offset = operation.at_offset ? operation.offset : 0;
  const std::uint64_t bytes = window_bytes_for(operation);
  const Result<RemoteSlice> part = peer_window_.part(offset, bytes);
  if (!part || !reads_.read_now({operation.memory.address, bytes, operation.memory.key}, *part)) return false;
  peer_window_.count_use(bytes, offset);
  path_.counters.bytes_received += bytes;
  path_.counters.direct_bytes += bytes;
  outcome = {.error = 0, .length_bytes = bytes, .flags = 0, .whole_bytes = 0};
  return true;
}

void MessageReceives::read_window(const Operation& operation) {
  const std::uint64_t offset = operation.at_offset ? operation.offset : 0;
  const std::uint64_t bytes = window_bytes_for(operation);
  const Result<RemoteSlice> part = peer_window_.part(offset, bytes);
  if (!part) return deliveries_.add_end(operation, {part.error().error(), 0, 0});
  deliveries_.add_reads(
      {Kind::kReceive, false, Source::kWindow, AckStatus::kTaken, 0, operation, {0, bytes, 0}}, *part, {});
  if (bytes == 0) peer_window_.count_use(0, offset);
}

// An advert that is not taken is answered behind the deliveries in progress: ACKs go in the order of adverts.
Status MessageReceives::answer(const ArrivedMessage& advert, AckStatus status) {
  deliveries_.add_finished({Kind::kAnswer, true, Source::kAdvert, status, advert.sequence, {}, {}});
  return arrived_.free_list(advert);
}

// ---------------------------------------------------------------- endings

Cancelled MessageReceives::cancel(const Selection& selection, int error) {
  cancelled_.reserve(cancelled_.count() + path_.receives.count());
  const std::uint32_t begun = deliveries_.count_begun(selection);
  Cancelled cancelled = persistent_receive_.cancel(selection, error);
  cancelled.matched += begun;
  cancelled.begun += begun;
  for (std::size_t left = path_.receives.count(); left > 0; --left) {
    const Operation operation = path_.receives.pop_front();
    if (!selection.matches(operation)) {
      path_.receives.push_back(operation);
      continue;
    }
    ++cancelled.matched;
    if (operation.persistent) --open_persistent_;
    cancelled_.push_back({operation, {error, 0, 0}});
  }
  return cancelled;
}

// Takes back the peer's writes, before a shutdown or close.
void MessageReceives::revoke_persistent() {
  persistent_receive_.revoke(ECANCELED);
  deliveries_.make_room(path_.receives.count());
  for (std::size_t left = path_.receives.count(); left > 0; --left) {
    const Operation operation = path_.receives.pop_front();
    if (operation.persistent) {
      --open_persistent_;
      deliveries_.add_end(operation, {ECANCELED, 0, 0});
    } else {
      path_.receives.push_back(operation);
    }
  }
}

std::uint64_t MessageReceives::oldest_post_ns() const noexcept {
  if (const std::uint64_t posted_ns = deliveries_.oldest_post_ns(); posted_ns != UINT64_MAX) return posted_ns;
  for (std::size_t i = 0; i < path_.receives.count(); ++i) {
    if (!path_.receives[i].persistent && path_.receives[i].posted_ns != 0) return path_.receives[i].posted_ns;
  }
  return UINT64_MAX;
}

void MessageReceives::stop(const Outcome& outcome) {
  revoke_persistent();
  if (state_ == State::kStopped) return;
  state_ = State::kStopped;
  stop_outcome_ = outcome;
  end_open_receives(outcome);
}

void MessageReceives::end_open_receives(const Outcome& outcome) {
  deliveries_.make_room(path_.receives.count());
  while (!path_.receives.empty()) deliveries_.add_end(path_.receives.pop_front(), outcome);
  open_persistent_ = 0;
}

Status MessageReceives::refuse_waiting() {
  while (!arrived_.empty()) {
    const ArrivedMessage message = arrived_.pop_front();
    Status status;
    if (message.source == Source::kAdvert) {
      status = answer(message, message.busy ? AckStatus::kBusy : AckStatus::kRefused);
    } else if (message.source == Source::kImmediate) {
      status = arrived_.free_immediate(message);
    } else if (message.source == Source::kWindow) {
      peer_window_.begin_release();
    }
    if (!status.ok()) return status;
  }
  return {};
}

void MessageReceives::fail_all(int error) {
  const Outcome outcome{error, 0, 0};
  taken_directly_ = false;
  deliveries_.fail_all(outcome);
  arrived_.clear();
  peer_window_.forget();
  state_ = State::kStopped;
  stop_outcome_ = outcome;
  has_failed_ = true;
}

// ---------------------------------------------------------------- outcomes and answers

void MessageReceives::deliver(OutcomeSink& sink) {
  if (taken_directly_) deliver_direct(sink);
  persistent_receive_.deliver(sink);
  while (!cancelled_.empty()) {
    const CancelledReceive ended = cancelled_.pop_front();
    sink.completed(Direction::kReceive, ended.operation, ended.outcome);
  }
  deliveries_.deliver(sink);
  if (has_failed_) deliver_failed(sink);
}

// Straight to the sink: a failure may be for want of memory.
void MessageReceives::deliver_failed(OutcomeSink& sink) {
  if (persistent_receive_.is_active()) persistent_receive_.fail(sink, stop_outcome_);
  for (; !path_.receives.empty(); path_.receives.drop_front())
    sink.completed(Direction::kReceive, path_.receives.front(), stop_outcome_);
  open_persistent_ = 0;
}

void MessageReceives::deliver_direct(OutcomeSink& sink) {
  taken_directly_ = false;
  path_.count_received(direct_outcome_.length_bytes);
  sink.completed(Direction::kReceive, path_.receives.front(), direct_outcome_);
  path_.receives.drop_front();
}

Status MessageReceives::send_answers(Outbox& outbox) {
  if (const Status status = recall_answer_.send(outbox, path_.credits); !status.ok()) return status;
  while (deliveries_.ack_is_due() && outbox.has_room()) {
    arrived_.return_advert_credit();
    if (const Status status = deliveries_.send_ack(outbox); !status.ok()) return status;
  }
  return persistent_receive_.send_control(outbox, state_ == State::kOpen);
}

Status MessageReceives::send_notices(Outbox& outbox) {
  if (!outbox.has_room()) return {};
  if (peer_window_.is_releasing() && !deliveries_.reads_window()) return peer_window_.send_release(outbox);
  if (peer_window_.notice_is_due() && path_.credits.available() > 0)
    return peer_window_.send_notice(outbox, path_.credits);
  return {};
}

}  // namespace exs::proto
