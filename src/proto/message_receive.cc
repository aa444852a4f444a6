#include "src/proto/message_receive.h"

#include <algorithm>

#include "src/base/log.h"
#include "src/proto/immediate.h"
#include "src/proto/pieces.h"
#include "src/proto/token.h"

namespace exs::proto {

MessageReceives::MessageReceives(Link& link, Slots& slots, Credits& credits, Counters& counters,
                                 const Agreement& agreement, std::uint64_t chunk_bytes,
                                 std::uint32_t first_sequence)
    : slots_(slots),
      credits_(credits),
      counters_(counters),
      small_bytes_(agreement.small_bytes),
      reads_(link, counters, agreement.reads_out, chunk_bytes),
      next_sequence_(first_sequence) {}

void MessageReceives::post(const Operation& operation) {
  open_.push_back(operation);
  if (state_ == State::kStopped) end_open_receives(stop_outcome_);
}

Status MessageReceives::arrived(const wire::Message& message, std::uint64_t slot,
                                std::uint32_t message_bytes) {
  const std::uint32_t sequence = message.header.sequence;
  if (sequence != next_sequence_) {
    log(LogLevel::kWarn, "protocol error: data message %u came, expected %u", sequence, next_sequence_);
    return Status(EPROTO);
  }
  if (message.payload_bytes > small_bytes_) {
    log(LogLevel::kWarn, "protocol error: immediate of %u bytes, %u agreed", message.payload_bytes,
        small_bytes_);
    return Status(EPROTO);
  }
  if (const Status status = credits_.data_arrived(); !status.ok()) return status;
  ++next_sequence_;
  if (message.header.type == wire::MessageType::kImmediate) {
    ++immediates_held_;
    waiting_.push_back({Source::kImmediate, sequence, {}, slot, message_bytes});
    return {};
  }
  ++adverts_held_;
  ++counters_.adverts_received;
  const wire::Advert& advert = message.advert;
  waiting_.push_back({Source::kAdvert, sequence, {advert.address, advert.length_bytes, advert.key}, 0, 0});
  return slots_.free(slot);
}

Status MessageReceives::match() {
  if (state_ == State::kStopped) return refuse_waiting();
  while (!open_.empty() && !waiting_.empty()) {
    const Operation operation = open_.pop_front();
    const Incoming incoming = waiting_.pop_front();
    if (incoming.source == Source::kAdvert) {
      start_advert(operation, incoming);
    } else if (const Status status = start_immediate(operation, incoming); !status.ok()) {
      return status;
    }
  }
  if (state_ == State::kPeerEnded) end_open_receives({0, 0, kEndOfStream});
  return {};
}

void MessageReceives::start_advert(const Operation& operation, const Incoming& incoming) {
  const std::uint64_t offered = incoming.window.length_bytes;
  const std::uint64_t taken = std::min<std::uint64_t>(offered, operation.memory.length_bytes);
  Outcome outcome{0, taken, kEndOfMessage};
  if (taken < offered) outcome.flags |= kTruncated;
  const std::uint64_t id = first_id_ + transfers_.count();
  transfers_.push_back({true, taken == 0, Source::kAdvert, incoming.sequence, operation, outcome});
  if (taken == 0) return;
  Pieces into(operation);
  RemoteSlice from = incoming.window;
  for (std::uint64_t left = taken; left > 0;) {
    const LocalSlice piece = into.next(left);
    left -= piece.length_bytes;
    reads_.add(id, piece, from, left == 0);
    from.address += piece.length_bytes;
  }
}

Status MessageReceives::start_immediate(const Operation& operation, const Incoming& incoming) {
  const auto message = slots_.message(incoming.slot, incoming.message_bytes);
  const Outcome outcome = take_immediate(message, operation);
  transfers_.push_back({true, true, Source::kImmediate, incoming.sequence, operation, outcome});
  return free_immediate(incoming);
}

// The credit comes back with the slot, whatever became of the payload.
Status MessageReceives::free_immediate(const Incoming& incoming) {
  if (const Status status = slots_.free(incoming.slot); !status.ok()) return status;
  --immediates_held_;
  credits_.owe();
  return {};
}

void MessageReceives::read_landed() {
  if (const auto id = reads_.landed()) transfers_[*id - first_id_].finished = true;
}

Status MessageReceives::told(const wire::Message&) {
  return Status(EPROTO);
}

Cancelled MessageReceives::cancel(const Selection& selection, int error) {
  Cancelled cancelled;
  for (std::size_t i = 0; i < transfers_.count(); ++i) {
    const Transfer& transfer = transfers_[i];
    if (!transfer.has_operation || transfer.finished || !selection.matches(transfer.operation)) continue;
    ++cancelled.matched;
    ++cancelled.begun;
  }
  for (std::size_t left = open_.count(); left > 0; --left) {
    const Operation operation = open_.pop_front();
    if (!selection.matches(operation)) {
      open_.push_back(operation);
      continue;
    }
    ++cancelled.matched;
    transfers_.push_back({true, true, Source::kNothing, 0, operation, {error, 0, 0}});
  }
  return cancelled;
}

std::uint64_t MessageReceives::oldest_post_ns() const noexcept {
  for (std::size_t i = 0; i < transfers_.count(); ++i) {
    const Operation& operation = transfers_[i].operation;
    if (transfers_[i].has_operation && !operation.persistent && operation.posted_ns != 0)
      return operation.posted_ns;
  }
  for (std::size_t i = 0; i < open_.count(); ++i) {
    if (!open_[i].persistent && open_[i].posted_ns != 0) return open_[i].posted_ns;
  }
  return UINT64_MAX;
}

void MessageReceives::peer_ended() {
  if (state_ == State::kOpen) state_ = State::kPeerEnded;
}

void MessageReceives::stop(const Outcome& outcome) {
  if (state_ == State::kStopped) return;
  state_ = State::kStopped;
  stop_outcome_ = outcome;
  end_open_receives(outcome);
}

void MessageReceives::end_open_receives(const Outcome& outcome) {
  while (!open_.empty()) transfers_.push_back({true, true, Source::kNothing, 0, open_.pop_front(), outcome});
}

// Refused adverts take their turn behind the transfers under way, because ACKs go in the order of adverts.
Status MessageReceives::refuse_waiting() {
  while (!waiting_.empty()) {
    const Incoming incoming = waiting_.pop_front();
    if (incoming.source == Source::kAdvert) {
      transfers_.push_back({false, true, Source::kAdvert, incoming.sequence, {}, {}});
    } else if (const Status status = free_immediate(incoming); !status.ok()) {
      return status;
    }
  }
  return {};
}

void MessageReceives::fail_all(int error) {
  const Outcome outcome{error, 0, 0};
  for (std::size_t i = 0; i < transfers_.count(); ++i) {
    transfers_[i].finished = true;
    transfers_[i].source = Source::kNothing;
    transfers_[i].outcome = outcome;
  }
  waiting_.clear();
  state_ = State::kStopped;
  stop_outcome_ = outcome;
  end_open_receives(outcome);
}

void MessageReceives::deliver(OutcomeSink& sink) {
  while (!transfers_.empty() && transfers_.front().finished) {
    const Transfer ended = transfers_.pop_front();
    ++first_id_;
    if (ended.source == Source::kAdvert) {
      const auto status = ended.has_operation ? wire::AckStatus::kTaken : wire::AckStatus::kRefused;
      acks_.push_back({ended.sequence, {status, ended.outcome.length_bytes}});
    }
    if (!ended.has_operation) continue;
    count(ended);
    sink.completed(Direction::kReceive, ended.operation, ended.outcome);
  }
}

void MessageReceives::count(const Transfer& ended) {
  if (ended.source == Source::kNothing) return;
  const std::uint64_t bytes = ended.outcome.length_bytes;
  ++counters_.receives_done;
  counters_.bytes_received += bytes;
  (ended.source == Source::kAdvert ? counters_.direct_bytes : counters_.copied_bytes) += bytes;
}

Status MessageReceives::send_answers(Outbox& outbox) {
  while (!acks_.empty() && outbox.has_room()) {
    wire::Message message;
    message.header.type = wire::MessageType::kAck;
    message.header.sequence = acks_.front().sequence;
    message.ack = acks_.front().ack;
    // An advert's credit must not overtake its ACK: the peer has slots for one ACK per credit.
    credits_.owe();
    --adverts_held_;
    const Status status = outbox.send(message, {}, make_token(PostKind::kMessage, 0));
    if (!status.ok()) return status;
    acks_.pop_front();
  }
  return {};
}

}  // namespace exs::proto
