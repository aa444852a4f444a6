// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/stream/stream_send.h"

#include <algorithm>
#include <utility>

#include "src/log/log.h"
#include "src/proto/token.h"

namespace exs::proto {
namespace {

// Buffers kept for the next messages while some are in flight.
constexpr std::size_t kBuffersAtHandMax = 4;

}  // namespace

StreamSends::StreamSends(Link& link, Outbox& outbox, Credits& credits, Counters& counters,
                         const Agreement& agreement, std::uint32_t first_sequence)
    : outbox_(outbox),
      credits_(credits),
      counters_(counters),
      small_bytes_(agreement.small_bytes),
      adverts_(link, outbox),
      next_sequence_(first_sequence) {}

// ---------------------------------------------------------------- posting

void StreamSends::post(const Operation& operation) {
  QueuedBytes& posted = operations_.push_back({});
  posted.operation = operation;
  const std::size_t bytes = operation.memory.length_bytes;
  posted.is_short = !operation.never_immediate && bytes <= small_bytes_;
  (posted.is_short ? short_bytes_ : long_waiting_) += posted.is_short ? bytes : 1;
  if (stop_error_ != 0) return refuse(posted, stop_error_);
  if (bytes == 0) return refuse(posted, 0);  // nothing to send; ends in post order
  release_in_burst(posted);
}

void StreamSends::release_in_burst(const QueuedBytes& posted) {
  const bool first_of_burst = posted.is_short && posts_in_burst_++ == 0;
  if (posted.operation.more) return;
  combined_id_ = end_id();
  if (!posted.is_short || nodelay_ || (first_of_burst && !crowded_)) released_id_ = combined_id_;
}

void StreamSends::end_burst() {
  crowded_ = posts_in_burst_ > 1;
  posts_in_burst_ = 0;
  released_id_ = std::max(released_id_, combined_id_);
}

void StreamSends::set_nodelay(bool nodelay) {
  nodelay_ = nodelay;
  if (nodelay) released_id_ = std::max(released_id_, combined_id_);
}

// ---------------------------------------------------------------- sending

Status StreamSends::transmit() {
  if (adverts_.recall_is_due()) {
    if (const Status status = adverts_.send_recall(); !status.ok()) return status;
  }
  while (!all_sent()) {
    QueuedBytes& next = entry(sending_id_);
    if (next.state != State::kWaiting) {
      ++sending_id_;
      continue;
    }
    if (!may_leave()) return {};
    if (credits_.available() == 0) {
      note_stall();
      return {};
    }
    if (!outbox_.has_room()) return {};
    if (const Status status = next.is_short ? send_short(next) : send_long(next); !status.ok()) return status;
  }
  return {};
}

Status StreamSends::send_short(QueuedBytes& next) {
  const std::size_t bytes = next.operation.memory.length_bytes;
  const bool fills_message = nodelay_ || bytes == short_bytes_ || bytes == small_bytes_;
  if (fills_message && !begun_ && next.operation.vector.empty()) {
    Load whole;
    whole.bytes = bytes;
    whole.end_id = sending_id_ + 1;
    return send_load(whole, next.operation.memory, nullptr);
  }
  Buffer buffer = take_buffer();
  const Load load = load_into(buffer.get());
  const LocalSlice payload{buffer.get(), load.bytes, {}};
  return send_load(load, payload, std::move(buffer));
}

StreamSends::Load StreamSends::load_into(std::byte* buffer) {
  Load load;
  for (std::uint64_t id = sending_id_; id < end_id() && load.bytes < small_bytes_; ++id) {
    const QueuedBytes& from = entry(id);
    if (from.state == State::kWaiting) {
      if (!from.is_short || (nodelay_ && load.parts > 0)) break;
      SliceCursor rest = id == sending_id_ && begun_ ? rest_ : SliceCursor(from.operation);
      load.bytes += rest.drain_into({buffer + load.bytes, small_bytes_ - load.bytes});
      ++load.parts;
      load.rest = rest;
      load.splits = rest.left_bytes() > 0;
      if (load.splits) break;
      ++load.whole;
    }
    load.end_id = id + 1;
  }
  if (load.end_id == 0) load.end_id = sending_id_;
  return load;
}

// Nothing has changed here unless the link took the message.
Status StreamSends::send_load(const Load& load, const LocalSlice& payload, Buffer buffer) {
  wire::Message message;
  message.header.type = wire::MessageType::kImmediate;
  message.header.sequence = next_sequence_;
  const Status status = outbox_.send(message, payload, make_token(PostKind::kImmediate, 0));
  if (!status.ok()) return status;
  credits_.spend();
  ++next_sequence_;
  const std::uint32_t flags = buffer == nullptr ? kImmediate : kImmediate | kCopied;
  for (; sending_id_ < load.end_id; ++sending_id_) {
    QueuedBytes& sent = entry(sending_id_);
    if (sent.state != State::kWaiting) continue;
    sent.state = State::kSent;
    sent.outcome.flags = flags;
  }
  short_bytes_ -= load.bytes;
  begun_ = load.splits;
  rest_ = load.rest;
  if (load.parts > 1) counters_.combined_sends += load.whole;
  messages_.push_back({load.end_id, std::move(buffer)});
  return {};
}

Status StreamSends::send_long(QueuedBytes& next) {
  SliceCursor rest = begun_ ? rest_ : SliceCursor(next.operation);
  const LocalSlice piece = rest.next(UINT64_MAX);
  const Result<RemoteSlice> window = adverts_.open_window(piece);
  if (!window) {
    if (window.error().error() == ENOTCONN) return window.error();
    give_up_rest(window.error().error());
    return {};
  }
  const Status status = adverts_.send(*window, next_sequence_, sending_id_);
  if (!status.ok()) return status;
  credits_.spend();
  ++next_sequence_;
  ++next.adverts_unacked;
  begun_ = rest.left_bytes() > 0;
  rest_ = rest;
  if (begun_) return {};
  next.state = State::kSent;
  --long_waiting_;
  ++sending_id_;
  return {};
}

// The long operation at sending_id_ ends with `error` once what has left of it is acknowledged.
void StreamSends::give_up_rest(int error) {
  QueuedBytes& given_up = entry(sending_id_);
  given_up.state = State::kSent;
  given_up.outcome.error = error;
  finish_if_acknowledged(given_up);
  begun_ = false;
  --long_waiting_;
  ++sending_id_;
}

void StreamSends::note_stall() {
  if (stalled_id_ == sending_id_) return;
  stalled_id_ = sending_id_;
  ++counters_.credit_stalls;
}

StreamSends::Buffer StreamSends::take_buffer() {
  if (buffers_.empty()) return std::make_unique_for_overwrite<std::byte[]>(small_bytes_);
  Buffer buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void StreamSends::keep_buffer(Buffer buffer) {
  const std::size_t keep = messages_.empty() ? 1 : kBuffersAtHandMax;
  if (buffer != nullptr) buffers_.push_back(std::move(buffer));
  while (buffers_.size() > keep) buffers_.pop_back();
}

// ---------------------------------------------------------------- ending

// Messages leave in the order in which they were sent.
void StreamSends::on_sent(std::uint64_t /*id*/) {
  Message message = messages_.pop_front();
  keep_buffer(std::move(message.buffer));
  for (; left_id_ < message.end_id; ++left_id_) {
    if (left_id_ < first_id_) continue;
    QueuedBytes& sent = entry(left_id_);
    if (!sent.is_short || sent.state != State::kSent) continue;
    sent.state = State::kFinished;
    sent.outcome.length_bytes = sent.operation.memory.length_bytes;
    counters_.immediate_bytes += sent.outcome.length_bytes;
  }
}

Status StreamSends::on_control(const wire::Message& message) {
  if (message.header.type == wire::MessageType::kAck) return on_ack(message);
  return message.header.type == wire::MessageType::kRecallAck ? on_recall_ack(message) : Status(EPROTO);
}

Status StreamSends::on_ack(const wire::Message& message) {
  const auto acknowledged = adverts_.on_ack(message);
  if (!acknowledged) return acknowledged.error();
  const auto [id, offered] = *acknowledged;
  const bool refused = message.ack.status == wire::AckStatus::kRefused;
  if (!refused && message.ack.bytes_taken != offered) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: ACK of {} takes {} of {} bytes of a stream",
                 message.header.sequence, message.ack.bytes_taken, offered);
  }
  ++counters_.acks_received;
  QueuedBytes& sent = entry(id);
  --sent.adverts_unacked;
  sent.outcome.length_bytes += message.ack.bytes_taken;
  if (refused) sent.outcome.error = EPIPE;
  if (refused && id == sending_id_) give_up_rest(EPIPE);
  finish_if_acknowledged(sent);
  return {};
}

Status StreamSends::on_recall_ack(const wire::Message& message) {
  const auto recalled = adverts_.on_recall_ack(message);
  if (!recalled) return recalled.error();
  if (!*recalled) return {};
  QueuedBytes& ended = entry((*recalled)->operation_id);
  ended.state = State::kCancelled;
  ended.outcome = {(*recalled)->error, 0, 0};
  some_cancelled_ = true;
  return {};
}

void StreamSends::finish_if_acknowledged(QueuedBytes& sent) {
  if (sent.state == State::kSent && sent.adverts_unacked == 0) sent.state = State::kFinished;
}

void StreamSends::refuse(QueuedBytes& unsent, int error) {
  if (unsent.is_short) {
    const bool is_begun = begun_ && &unsent == &entry(sending_id_);
    short_bytes_ -= is_begun ? rest_.left_bytes() : unsent.operation.memory.length_bytes;
  } else {
    --long_waiting_;
  }
  unsent.state = State::kFinished;
  unsent.outcome = {error, 0, 0};
}

Cancelled StreamSends::cancel(const Selection& selection, int error) {
  Cancelled cancelled;
  for (std::uint64_t id = first_id_; id < end_id(); ++id) {
    QueuedBytes& open = entry(id);
    if (open.state >= State::kFinished || !selection.matches(open.operation)) continue;
    ++cancelled.matched;
    const bool has_left = open.state == State::kSent || (begun_ && id == sending_id_);
    if (has_left && adverts_.recall(id, open.operation.memory.length_bytes, error)) {
      ++cancelled.asked;
    } else if (has_left) {
      ++cancelled.begun;
    } else {
      refuse(open, error);
      open.state = State::kCancelled;
      some_cancelled_ = true;
    }
  }
  return cancelled;
}

std::uint64_t StreamSends::oldest_post_ns() const noexcept {
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    const QueuedBytes& open = operations_[i];
    if (open.state < State::kFinished && open.operation.posted_ns != 0) return open.operation.posted_ns;
  }
  return UINT64_MAX;
}

// The part of a short operation that has left lies in our buffer, so the operation can end at once.
void StreamSends::stop(int error) {
  refuse_later(error);
  while (!all_sent()) {
    QueuedBytes& unsent = entry(sending_id_);
    if (unsent.state == State::kWaiting && !unsent.is_short && begun_) {
      give_up_rest(error);
      continue;
    }
    if (unsent.state == State::kWaiting) refuse(unsent, error);
    begun_ = false;
    ++sending_id_;
  }
}

void StreamSends::on_all_received() {
  while (!messages_.empty()) on_sent(0);
}

void StreamSends::fail_all(int error) {
  stop(error);
  stop_error_ = error;
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    QueuedBytes& open = operations_[i];
    if (open.state >= State::kFinished) continue;
    open.state = State::kFinished;
    open.outcome = {error, 0, 0};
  }
  messages_.clear();
}

void StreamSends::deliver(OutcomeSink& sink) {
  if (std::exchange(some_cancelled_, false)) {
    for (std::size_t i = 0; i < operations_.count(); ++i) {
      QueuedBytes& open = operations_[i];
      if (open.state != State::kCancelled) continue;
      open.state = State::kGone;
      sink.completed(Direction::kSend, open.operation, open.outcome);
    }
  }
  while (!operations_.empty() && operations_.front().state >= State::kFinished) {
    const QueuedBytes ended = operations_.pop_front();
    ++first_id_;
    sending_id_ = std::max(sending_id_, first_id_);
    if (ended.state == State::kGone) continue;
    if (ended.outcome.error == 0) counters_.bytes_sent += ended.outcome.length_bytes;
    sink.completed(Direction::kSend, ended.operation, ended.outcome);
  }
}

}  // namespace exs::proto
