// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/message/message_send.h"

#include <new>
#include <utility>

#include "src/log/log.h"
#include "src/proto/immediate.h"
#include "src/proto/slice_cursor.h"
#include "src/proto/slots.h"

namespace exs::proto {

using wire::MessageType;

MessageSends::MessageSends(ShortPath& path, Outbox& outbox, const Agreement& agreement,
                           std::uint64_t chunk_bytes)
    : path_(path),
      outbox_(outbox),
      agreement_(agreement),
      adverts_(path.link, outbox),
      owned_(path.link, path.counters, Direction::kSend),
      offered_(Direction::kSend),
      writes_(path.link, path.counters, chunk_bytes) {}

void MessageSends::post(const Operation& operation) {
  int error = stop_error_;
  if (error == 0 && operation.persistent && !operation.vector.empty()) error = EINVAL;
  if (error == 0 && (is_busy() || (operation.persistent && offered_.is_active()))) error = EBUSY;
  QueuedMessage& posted = operations_.append();
  if (error == 0 && operation.persistent) {
    persistent_id_ = first_id_ + operations_.count() - 1;
    any_persistent_ = true;
  }
  posted.operation = operation;
  posted.state = State::kWaiting;
  posted.outcome = {};
  if (!operation.more) flush();
  if (error != 0) refuse(posted, error);
}

bool MessageSends::send_now(const Operation& operation) {
  const bool is_plain = !operation.persistent && !operation.more && operation.vector.empty();
  if (!is_first() || !is_plain || path_.credits.available() == 0 || !travels_immediate(operation, agreement_))
    return false;
  if (!outbox_.send_immediate_now(path_.next_out, operation.memory)) return false;
  path_.count_sent(operation.memory.length_bytes);
  return true;
}

// A persistent send owns the direction from its post until it is revoked.
bool MessageSends::is_busy() const noexcept {
  if (!any_persistent_ || persistent_id_ < first_id_) return false;
  const State state = operations_[persistent_id_ - first_id_].state;
  return state == State::kWaiting || (state == State::kSent && !owned_.is_revoked());
}

void MessageSends::refuse(QueuedMessage& unsent, int error) {
  unsent.state = State::kFinished;
  unsent.outcome = {error, 0, 0};
}

Status MessageSends::transmit() {
  if (const Status status = end_windows(); !status.ok()) return status;
  if (adverts_.recall_is_due()) {
    if (const Status status = adverts_.send_recall(); !status.ok()) return status;
  }
  if (offered_.is_active() && !earlier_landed_)
    earlier_landed_ = path_.credits.available() == path_.credits.send_total();
  while (handled_ < released_ && handled_ < operations_.count()) {
    QueuedMessage& next = operations_[handled_];
    if (next.state == State::kWaiting) {
      const Result<bool> started = start(next);
      if (!started) return started.error();
      if (!*started) break;
    }
    ++handled_;
  }
  if (const Status status = writes_.post(); !status.ok()) return status;
  return end_windows();
}

// Sends what is due at the end of windows, and notices.
Status MessageSends::end_windows() {
  Status status;
  if (owned_.revoke_is_due() && outbox_.has_room()) status = owned_.send_revoke(outbox_);
  if (!status.ok() || !offered_.is_held()) return status;
  if (offered_.is_active() && stop_error_ != 0 && handled_ == operations_.count()) offered_.begin_release();
  if (offered_.is_releasing()) {
    return writes_.idle() && outbox_.has_room() ? offered_.send_release(outbox_) : Status();
  }
  if (offered_.notice_is_due() && path_.credits.available() > 0 && outbox_.has_room())
    return offered_.send_notice(outbox_, path_.credits);
  return {};
}

// Nothing has changed here unless the link took what there was to post.
Result<bool> MessageSends::start(QueuedMessage& next) {
  const Operation& operation = next.operation;
  if (owned_.is_open() || offered_.is_releasing()) return false;
  if (operation.persistent) {
    if (!offered_.is_active()) return send_message(next);
    refuse(next, EBUSY);
  } else if (offered_.is_active()) {
    if (!earlier_landed_) return false;
    write(next);
  } else if (operation.at_offset ? offsets_cancelled_ : plain_cancel_due_) {
    if (!operation.at_offset) plain_cancel_due_ = false;
    refuse(next, ECANCELED);
  } else {
    return send_message(next);
  }
  return true;
}

Result<bool> MessageSends::send_message(QueuedMessage& next) {
  if (path_.credits.available() == 0) {
    note_stall();
    return false;
  }
  if (!outbox_.has_room()) return false;
  Status status;
  if (next.operation.persistent) {
    status = start_persistent(next);
  } else if (travels_immediate(next.operation, agreement_)) {
    status = send_immediately(next);
  } else {
    status = send_advert(next);
  }
  if (!status.ok()) return failure(status);
  if (next.state == State::kFinished) return true;  // its memory could not be exposed
  path_.credits.spend();
  ++path_.next_out;
  next.state = State::kSent;
  return true;
}

Status MessageSends::start_persistent(QueuedMessage& next) {
  owned_.hold(next.operation);
  if (const Status status = owned_.expose(); !status.ok()) {
    owned_.forget();
    if (status.error() == ENOTCONN) return status;
    refuse(next, status.error());
    return {};
  }
  if (const Status status = owned_.send_advert(outbox_, path_.next_out); !status.ok()) {
    static_cast<void>(owned_.close());  // the peer does not know of it
    owned_.forget();
    return status;
  }
  owned_id_ = first_id_ + handled_;
  return {};
}

Status MessageSends::send_immediately(QueuedMessage& next) {
  const Status status = send_immediate(outbox_, next.operation, path_.next_out, first_id_ + handled_);
  if (!status.ok()) return status;
  next.outcome.flags = kImmediate;
  if (!next.operation.vector.empty() && next.operation.memory.length_bytes > 0) next.outcome.flags |= kCopied;
  return {};
}

Status MessageSends::send_advert(QueuedMessage& next) {
  Result<Windows> windows = open_windows(next);
  if (!windows) {
    if (windows.error().error() == ENOTCONN) return windows.error();
    refuse(next, windows.error().error());
    return {};
  }
  return adverts_.send(std::move(*windows), next.operation, path_.next_out, first_id_ + handled_);
}

Result<Windows> MessageSends::open_windows(QueuedMessage& next) {
  const Operation& operation = next.operation;
  std::size_t pieces = 0;
  for (const LocalSlice& piece : operation.vector) pieces += piece.length_bytes > 0 ? 1 : 0;
  if (pieces <= windows_max(slot_bytes(agreement_))) return adverts_.open_windows(operation);

  const std::size_t bytes = operation.memory.length_bytes;
  next.copy.reset(new (std::nothrow) std::byte[bytes]);
  if (next.copy == nullptr) return failure(ENOMEM);
  SliceCursor(operation).drain_into({next.copy.get(), bytes});
  next.outcome.flags = kCopied;
  Operation copied;
  copied.memory = {next.copy.get(), bytes, {}};
  return adverts_.open_windows(copied);
}

void MessageSends::write(QueuedMessage& next) {
  const std::uint64_t offset = next.operation.at_offset ? next.operation.offset : 0;
  const std::uint64_t bytes = next.operation.memory.length_bytes;
  const Result<RemoteSlice> part = offered_.part(offset, bytes);
  if (!part) return refuse(next, part.error().error());
  next.outcome.length_bytes = bytes;
  next.state = bytes == 0 ? State::kFinished : State::kWriting;
  if (bytes == 0) offered_.count_use(0, offset);
  SliceCursor from(next.operation);
  RemoteSlice to = *part;
  while (from.left_bytes() > 0) {
    const LocalSlice piece = from.next(UINT64_MAX);
    writes_.add(first_id_ + handled_, piece, to, from.left_bytes() == 0);
    to.address += piece.length_bytes;
  }
}

void MessageSends::note_stall() {
  const std::uint64_t id = first_id_ + handled_;
  if (stalled_id_ == id) return;
  stalled_id_ = id;
  ++path_.counters.credit_stalls;
}

void MessageSends::on_sent(std::uint64_t operation_id) {
  QueuedMessage& sent = entry(operation_id);
  sent.state = State::kFinished;
  sent.outcome.length_bytes = sent.operation.memory.length_bytes;
  path_.counters.immediate_bytes += sent.outcome.length_bytes;
}

void MessageSends::on_write_done(std::uint64_t operation_id) {
  if (!writes_.on_done()) return;
  QueuedMessage& written = entry(operation_id);
  written.state = State::kFinished;
  if (written.outcome.error != 0) return;
  const Operation& operation = written.operation;
  offered_.count_use(operation.memory.length_bytes, operation.at_offset ? operation.offset : 0);
  path_.counters.direct_bytes += operation.memory.length_bytes;
}

Status MessageSends::on_ack(const wire::Message& message) {
  const wire::AckStatus answer = message.ack.status;
  if (adverts_.outstanding() == 0 && owned_.is_advertised() && message.header.sequence == owned_.id())
    return on_ack_of_owned(answer);
  const auto acknowledged = adverts_.on_ack(message);
  if (!acknowledged) return acknowledged.error();
  ++path_.counters.acks_received;
  QueuedMessage& sent = entry(acknowledged->operation_id);
  sent.state = State::kFinished;
  sent.copy.reset();
  sent.outcome.length_bytes = message.ack.bytes_taken;
  if (answer == wire::AckStatus::kRefused) sent.outcome.error = EPIPE;
  if (answer == wire::AckStatus::kOutOfRange) sent.outcome.error = ERANGE;
  if (answer == wire::AckStatus::kNotPersistent) sent.outcome.error = EINVAL;
  return {};
}

Status MessageSends::on_ack_of_owned(wire::AckStatus answer) {
  if (answer != wire::AckStatus::kRefused && answer != wire::AckStatus::kBusy) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of the persistent {} with status {}",
                 owned_.id(), static_cast<unsigned>(answer));
  }
  ++path_.counters.acks_received;
  if (const Status status = owned_.close(); !status.ok()) return status;
  end_owned({answer == wire::AckStatus::kBusy ? EBUSY : EPIPE, 0, 0});
  return {};
}

void MessageSends::end_owned(const Outcome& outcome) {
  QueuedMessage& ended = entry(owned_id_);
  ended.state = State::kFinished;
  ended.outcome = outcome;
}

Status MessageSends::on_control(const wire::Message& message) {
  switch (message.header.type) {
    case MessageType::kAck: return on_ack(message);
    case MessageType::kRecallAck: return on_recall_ack(message);
    case MessageType::kOffer: return on_offer(message);
    case MessageType::kRevoke: return on_revoke(message);
    case MessageType::kNotice:
    case MessageType::kRelease: {
      Outcome outcome;
      const Status status = owned_.on_control(message, {EPIPE, 0, 0}, outcome);
      if (status.ok() && !owned_.is_open()) end_owned(outcome);
      return status;
    }
    default: return Status(EPROTO);
  }
}

Status MessageSends::on_recall_ack(const wire::Message& message) {
  const auto recalled = adverts_.on_recall_ack(message);
  if (!recalled) return recalled.error();
  if (!*recalled) return {};
  QueuedMessage& ended = entry((*recalled)->operation_id);
  ended.state = State::kCancelled;
  ended.copy.reset();
  ended.outcome = {(*recalled)->error, 0, 0};
  some_cancelled_ = true;
  return {};
}

Status MessageSends::on_offer(const wire::Message& message) {
  const std::uint32_t id = message.header.sequence;
  if (offered_.is_held() || id != next_offer_) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: OFFER {}, expected {}{}", id, next_offer_,
                 offered_.is_held() ? " after the release of the last" : "");
  }
  ++next_offer_;
  offered_.accept(message);
  earlier_landed_ = false;
  offsets_cancelled_ = false;
  return {};
}

Status MessageSends::on_revoke(const wire::Message& message) {
  const Result<bool> revoked = offered_.on_revoke(message);
  if (!revoked) return revoked.error();
  if (!*revoked) return {};
  bool any_cancelled = false;
  for (std::size_t i = 0; i < handled_; ++i) {
    if (operations_[i].state != State::kWriting) continue;
    refuse(operations_[i], ECANCELED);
    if (writes_.abandon(first_id_ + i)) operations_[i].state = State::kWriting;
    any_cancelled = true;
  }
  plain_cancel_due_ = !any_cancelled;
  offsets_cancelled_ = true;
  return {};
}

Cancelled MessageSends::cancel(const Selection& selection, int error) {
  Cancelled cancelled;
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    QueuedMessage& entry = operations_[i];
    if (!is_open(entry) || !selection.matches(entry.operation)) continue;
    ++cancelled.matched;
    const Taking taking = cancel_one(entry, first_id_ + i, error);
    if (taking == Taking::kAsked) ++cancelled.asked;
    if (taking == Taking::kBegun) ++cancelled.begun;
  }
  return cancelled;
}

MessageSends::Taking MessageSends::cancel_one(QueuedMessage& entry, std::uint64_t operation_id, int error) {
  if (entry.state == State::kSent && entry.operation.persistent) {
    owned_.revoke(error);
    return Taking::kBegun;
  }
  if (entry.state == State::kSent) {
    const std::uint64_t bytes = entry.operation.memory.length_bytes;
    return adverts_.recall(operation_id, bytes, error) ? Taking::kAsked : Taking::kBegun;
  }
  if (entry.state == State::kWriting) {
    if (writes_.has_begun(operation_id)) return Taking::kBegun;
    writes_.abandon(operation_id);
  }
  entry.state = State::kCancelled;
  entry.outcome = {error, 0, 0};
  some_cancelled_ = true;
  return Taking::kEnded;
}

void MessageSends::revoke() {
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    QueuedMessage& entry = operations_[i];
    if (entry.operation.persistent && is_open(entry)) cancel_one(entry, first_id_ + i, ECANCELED);
  }
}

std::uint64_t MessageSends::oldest_post_ns() const noexcept {
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    const QueuedMessage& entry = operations_[i];
    const bool counts = entry.state != State::kGone && !entry.operation.persistent;
    if (counts && entry.operation.posted_ns != 0) return entry.operation.posted_ns;
  }
  return UINT64_MAX;
}

void MessageSends::stop(int error) {
  refuse_later(error);
  for (; handled_ < operations_.count(); ++handled_) {
    QueuedMessage& unsent = operations_[handled_];
    if (unsent.state == State::kWaiting) refuse(unsent, error);
  }
}

void MessageSends::on_all_received() {
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    if (operations_[i].state == State::kSent) on_sent(first_id_ + i);
  }
}

void MessageSends::fail_all(int error) {
  stop_error_ = error;
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    if (operations_[i].state < State::kCancelled) refuse(operations_[i], error);
  }
  handled_ = operations_.count();
  owned_.forget();
  offered_.forget();
}

void MessageSends::deliver(OutcomeSink& sink) {
  owned_.deliver(sink);
  if (std::exchange(some_cancelled_, false)) {
    for (std::size_t i = 0; i < operations_.count(); ++i) {
      QueuedMessage& entry = operations_[i];
      if (entry.state != State::kCancelled) continue;
      entry.state = State::kGone;
      sink.completed(Direction::kSend, entry.operation, entry.outcome);
    }
  }
  while (!operations_.empty() && operations_.front().state >= State::kFinished) {
    QueuedMessage& ended = operations_.front();
    if (ended.state != State::kGone) {
      if (ended.outcome.error == 0) path_.counters.bytes_sent += ended.outcome.length_bytes;
      sink.completed(Direction::kSend, ended.operation, ended.outcome);
    }
    ended.copy.reset();
    operations_.drop_front();
    ++first_id_;
    if (handled_ > 0) --handled_;
    if (released_ > 0) --released_;
  }
}

}  // namespace exs::proto
