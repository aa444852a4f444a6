#include "src/proto/message_send.h"

#include "src/proto/immediate.h"

namespace exs::proto {

MessageSends::MessageSends(Link& link, Outbox& outbox, Credits& credits, Counters& counters,
                           const Agreement& agreement, std::uint32_t first_sequence)
    : outbox_(outbox),
      credits_(credits),
      counters_(counters),
      agreement_(agreement),
      adverts_(link, outbox),
      next_sequence_(first_sequence) {}

void MessageSends::post(const Operation& operation) {
  Entry& posted = operations_.push_back({operation, State::kWaiting, {}});
  if (!operation.more) flush();
  if (stop_error_ != 0) refuse(posted, stop_error_);
}

void MessageSends::refuse(Entry& unsent, int error) {
  unsent.state = State::kFinished;
  unsent.outcome = {error, 0, 0};
}

Status MessageSends::transmit() {
  while (handled_ < released_ && !all_sent()) {
    if (operations_[handled_].state == State::kFinished) {
      ++handled_;
      continue;
    }
    if (credits_.available() == 0) {
      note_stall();
      return {};
    }
    if (!outbox_.has_room()) return {};
    if (const Status status = send_next(); !status.ok()) return status;
    ++handled_;
  }
  return {};
}

// Nothing has changed here unless the link took the message.
Status MessageSends::send_next() {
  Entry& next = operations_[handled_];
  const std::uint64_t id = first_id_ + handled_;
  Status status;
  if (travels_immediate(next.operation, agreement_)) {
    status = send_immediate(outbox_, next.operation, next_sequence_, id);
    next.outcome.flags = kImmediate;
  } else {
    const Result<RemoteSlice> window = adverts_.open_window(next.operation.memory);
    if (!window) {
      if (window.error().error() == ENOTCONN) return window.error();
      refuse(next, window.error().error());
      return {};
    }
    status = adverts_.send(*window, next_sequence_, id);
  }
  if (!status.ok()) return status;
  credits_.spend();
  ++next_sequence_;
  next.state = State::kSent;
  return {};
}

void MessageSends::note_stall() {
  const std::uint64_t id = first_id_ + handled_;
  if (stalled_id_ == id) return;
  stalled_id_ = id;
  ++counters_.credit_stalls;
}

void MessageSends::left(std::uint64_t operation_id) {
  Entry& sent = entry(operation_id);
  sent.state = State::kFinished;
  sent.outcome.length_bytes = sent.operation.memory.length_bytes;
  counters_.immediate_bytes += sent.outcome.length_bytes;
}

Status MessageSends::acknowledged(const wire::Message& message) {
  const Result<std::uint64_t> id = adverts_.acknowledged(message);
  if (!id) return id.error();
  ++counters_.acks_received;
  Entry& sent = entry(*id);
  sent.state = State::kFinished;
  sent.outcome.length_bytes = message.ack.bytes_taken;
  if (message.ack.status == wire::AckStatus::kRefused) sent.outcome.error = EPIPE;
  return {};
}

Status MessageSends::told(const wire::Message&) {
  return Status(EPROTO);
}

Cancelled MessageSends::cancel(const Selection& selection, int error) {
  Cancelled cancelled;
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    Entry& entry = operations_[i];
    if (entry.state == State::kFinished || !selection.matches(entry.operation)) continue;
    ++cancelled.matched;
    if (entry.state == State::kSent) {
      ++cancelled.begun;
    } else {
      refuse(entry, error);
    }
  }
  return cancelled;
}

std::uint64_t MessageSends::oldest_post_ns() const noexcept {
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    const Operation& operation = operations_[i].operation;
    if (!operation.persistent && operation.posted_ns != 0) return operation.posted_ns;
  }
  return UINT64_MAX;
}

void MessageSends::refuse_later(int error) {
  if (stop_error_ == 0) stop_error_ = error;
}

void MessageSends::stop(int error) {
  refuse_later(error);
  for (; !all_sent(); ++handled_) {
    Entry& unsent = operations_[handled_];
    if (unsent.state == State::kWaiting) refuse(unsent, error);
  }
}

void MessageSends::all_left() {
  for (std::size_t i = 0; i < operations_.count(); ++i) {
    if (operations_[i].state == State::kSent) left(first_id_ + i);
  }
}

void MessageSends::fail_all(int error) {
  stop_error_ = error;
  for (std::size_t i = 0; i < operations_.count(); ++i) refuse(operations_[i], error);
  handled_ = operations_.count();
}

void MessageSends::deliver(OutcomeSink& sink) {
  while (!operations_.empty() && operations_.front().state == State::kFinished) {
    const Entry ended = operations_.pop_front();
    ++first_id_;
    if (handled_ > 0) --handled_;
    if (released_ > 0) --released_;
    if (ended.outcome.error == 0) {
      ++counters_.sends_done;
      counters_.bytes_sent += ended.outcome.length_bytes;
    }
    sink.completed(Direction::kSend, ended.operation, ended.outcome);
  }
}

}  // namespace exs::proto
