// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/stream/stream_receive.h"

#include <algorithm>

#include "src/log/log.h"
#include "src/proto/token.h"

namespace exs::proto {

StreamReceives::StreamReceives(Link& link, Slots& slots, Credits& credits, Counters& counters,
                               const Agreement& agreement, std::uint64_t chunk_bytes,
                               std::uint32_t first_sequence)
    : ReceiveSide(link, counters, agreement, chunk_bytes),
      slots_(slots),
      credits_(credits),
      counters_(counters),
      small_bytes_(agreement.small_bytes),
      next_sequence_(first_sequence) {}

bool StreamReceives::post(const Operation& operation) {
  Receive& posted = receives_.push_back({});
  posted.operation = operation;
  posted.room = SliceCursor(operation);
  if (state_ == State::kStopped) end_open_receives(stop_outcome_);
  return true;
}

// ---------------------------------------------------------------- from the peer

Status StreamReceives::check(const wire::Message& message) const {
  const std::uint32_t sequence = message.header.sequence;
  const bool is_advert = message.header.type == wire::MessageType::kAdvert;
  const std::uint64_t bytes = is_advert ? message.advert.length_bytes : message.payload_bytes;
  const char* wrong = nullptr;
  if (sequence != next_sequence_) {
    wrong = "out of turn";
  } else if (message.header.flags != 0) {
    wrong = "with flags in a stream";
  } else if (bytes == 0) {
    wrong = "without bytes in a stream";
  } else if (!is_advert && bytes > small_bytes_) {
    wrong = "longer than agreed";
  }
  if (wrong == nullptr) return {};
  return fault(LogLevel::kWarn, EPROTO,
               "protocol error: data message {} {} (expected {}, flags {}, {} bytes)", sequence, wrong,
               next_sequence_, message.header.flags, bytes);
}

Status StreamReceives::on_data(const wire::Message& message, std::uint64_t slot,
                               std::uint32_t message_bytes) {
  if (const Status status = check(message); !status.ok()) return status;
  if (const Status status = credits_.data_arrived(); !status.ok()) return status;
  ++next_sequence_;
  if (message.header.type == wire::MessageType::kImmediate) {
    ++immediates_held_;
    waiting_.push_back({false, {}, slot, message_bytes, 0});
    return {};
  }
  ++counters_.adverts_received;
  const wire::Advert& advert = message.advert;
  adverts_.push_back({message.header.sequence, advert.length_bytes, advert.length_bytes, false, 0});
  waiting_.push_back({true, {advert.address, advert.length_bytes, advert.key}, 0, 0, 0});
  return slots_.free(slot);
}

Status StreamReceives::on_recall(const wire::Message& message) {
  const std::uint32_t sequence = message.header.sequence;
  if (const Status status = check_recall(sequence, next_sequence_); !status.ok()) return status;
  return recall_answer_.make(sequence, forget_advert(sequence));
}

// False: the advert is not here any more, or has been assigned in part.
bool StreamReceives::forget_advert(std::uint32_t sequence) {
  std::size_t advert = advert_at_front_ - first_advert_id_;
  for (std::size_t i = 0; i < waiting_.count(); ++i) {
    if (!waiting_[i].is_advert) continue;
    if (adverts_[advert].sequence != sequence) {
      ++advert;
      continue;
    }
    if (waiting_[i].window.length_bytes != adverts_[advert].length_bytes) return false;
    waiting_.take(i);
    adverts_.take(advert);
    return true;
  }
  return false;
}

// The READ was out of the oldest advert that is not read yet: READs are posted, and end, in their order.
void StreamReceives::on_read_done() {
  if (!reads_.on_done()) return;
  const Reading done = readings_.pop_front();
  --receive(done.receive_id).reading;
  AdvertProgress& advert = adverts_.front();
  --advert.reading;
  advert.left_bytes -= done.bytes;
  finish_adverts();
}

void StreamReceives::finish_adverts() {
  while (!adverts_.empty()) {
    const AdvertProgress& oldest = adverts_.front();
    if (oldest.reading > 0 || (oldest.left_bytes > 0 && !oldest.refused)) return;
    acks_.push_back(adverts_.pop_front());
    ++first_advert_id_;
  }
}

std::uint64_t StreamReceives::next_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < waiting_.count(); ++i) {
    const ArrivedData& data = waiting_[i];
    bytes += data.is_advert ? data.window.length_bytes
                            : data.message_bytes - wire::kHeaderBytes - data.taken_bytes;
  }
  return bytes;
}

// ---------------------------------------------------------------- matching

Status StreamReceives::match() {
  if (state_ == State::kStopped) return refuse_waiting();
  for (; filling_id_ < end_id(); ++filling_id_) {
    Receive& next = receive(filling_id_);
    if (!next.ended) {
      if (const Status status = fill(next); !status.ok()) return status;
    }
    if (!next.ended) break;
  }
  if (state_ == State::kPeerEnded) end_open_receives({0, 0, kEndOfStream});
  return {};
}

// Ends the receive if the data here allows it.
Status StreamReceives::fill(Receive& into) {
  const bool wait_all = into.operation.wait_all;
  while (into.room.left_bytes() > 0 && !waiting_.empty()) {
    ArrivedData& from = waiting_.front();
    if (!from.is_advert) {
      if (const Status status = copy(into, from); !status.ok()) return status;
      continue;
    }
    if (into.outcome.length_bytes > 0 && !wait_all) break;
    read(into, from);
    if (!wait_all) break;
  }
  into.ended = into.room.left_bytes() == 0 || (into.outcome.length_bytes > 0 && !wait_all);
  return {};
}

Status StreamReceives::copy(Receive& into, ArrivedData& from) {
  const auto payload = slots_.message(from.slot, from.message_bytes).subspan(wire::kHeaderBytes);
  const std::size_t copied = into.room.fill_from(payload.subspan(from.taken_bytes));
  into.outcome.length_bytes += copied;
  into.outcome.flags |= kImmediate | kCopied;
  counters_.copied_bytes += copied;
  from.taken_bytes += static_cast<std::uint32_t>(copied);
  if (from.taken_bytes < payload.size()) return {};
  return free_slot(waiting_.pop_front());
}

void StreamReceives::read(Receive& into, ArrivedData& from) {
  const std::uint64_t bytes = std::min<std::uint64_t>(into.room.left_bytes(), from.window.length_bytes);
  for (std::uint64_t left = bytes; left > 0;) {
    const LocalSlice piece = into.room.next(left);
    left -= piece.length_bytes;
    reads_.add(0, piece, from.window, left == 0);
    from.window.address += piece.length_bytes;
  }
  from.window.length_bytes -= bytes;
  into.outcome.length_bytes += bytes;
  counters_.direct_bytes += bytes;
  ++into.reading;
  readings_.push_back({filling_id_, bytes});
  ++adverts_[advert_at_front_ - first_advert_id_].reading;
  if (from.window.length_bytes > 0) return;
  waiting_.pop_front();
  ++advert_at_front_;
}

// The credit comes back with the slot, whatever became of the payload.
Status StreamReceives::free_slot(const ArrivedData& immediate) {
  if (const Status status = slots_.free(immediate.slot); !status.ok()) return status;
  --immediates_held_;
  credits_.owe();
  return {};
}

// ---------------------------------------------------------------- endings

// Adverts are refused in their order, behind the reads in progress.
Status StreamReceives::refuse_waiting() {
  while (!waiting_.empty()) {
    const ArrivedData arrived = waiting_.pop_front();
    if (arrived.is_advert) {
      adverts_[advert_at_front_++ - first_advert_id_].refused = true;
    } else if (const Status status = free_slot(arrived); !status.ok()) {
      return status;
    }
  }
  finish_adverts();
  return {};
}

void StreamReceives::stop(const Outcome& outcome) {
  if (state_ == State::kStopped) return;
  state_ = State::kStopped;
  stop_outcome_ = outcome;
  end_open_receives(outcome);
}

// The receives keep what they have taken.
void StreamReceives::end_open_receives(const Outcome& outcome) {
  for (; filling_id_ < end_id(); ++filling_id_) end_receive(receive(filling_id_), outcome);
}

void StreamReceives::end_receive(Receive& open, const Outcome& outcome) {
  if (open.ended) return;
  open.ended = true;
  open.outcome.error = outcome.error;
  open.outcome.flags |= outcome.flags;
}

Cancelled StreamReceives::cancel(const Selection& selection, int error) {
  Cancelled cancelled;
  for (std::size_t i = 0; i < receives_.count(); ++i) {
    Receive& open = receives_[i];
    const bool over = open.ended && open.reading == 0;
    if (over || !selection.matches(open.operation)) continue;
    ++cancelled.matched;
    if (open.ended) ++cancelled.begun;
    end_receive(open, {error, 0, 0});
  }
  return cancelled;
}

std::uint64_t StreamReceives::oldest_post_ns() const noexcept {
  for (std::size_t i = 0; i < receives_.count(); ++i) {
    if (receives_[i].operation.posted_ns != 0) return receives_[i].operation.posted_ns;
  }
  return UINT64_MAX;
}

void StreamReceives::fail_all(int error) {
  stop({error, 0, 0});
  stop_outcome_ = {error, 0, 0};
  // Bytes that READs have not brought are lost, and no later bytes may be reported as received.
  bool bytes_lost = false;
  for (std::size_t i = 0; i < receives_.count(); ++i) {
    Receive& open = receives_[i];
    bytes_lost |= open.reading > 0;
    if (bytes_lost) open.outcome = {error, 0, 0};
    open.reading = 0;
  }
  readings_.clear();
  waiting_.clear();
}

void StreamReceives::deliver(OutcomeSink& sink) {
  while (!receives_.empty() && receives_.front().ended && receives_.front().reading == 0) {
    const Receive done = receives_.pop_front();
    ++first_id_;
    filling_id_ = std::max(filling_id_, first_id_);
    counters_.bytes_received += done.outcome.length_bytes;
    sink.completed(Direction::kReceive, done.operation, done.outcome);
  }
}

Status StreamReceives::send_answers(Outbox& outbox) {
  if (const Status status = recall_answer_.send(outbox, credits_); !status.ok()) return status;
  while (!acks_.empty() && outbox.has_room()) {
    const AdvertProgress ended = acks_.front();
    wire::Message message;
    message.header.type = wire::MessageType::kAck;
    message.header.sequence = ended.sequence;
    message.ack = {ended.refused ? wire::AckStatus::kRefused : wire::AckStatus::kTaken,
                   ended.refused ? 0 : ended.length_bytes};
    acks_.pop_front();
    // An advert's credit must not overtake its ACK: the peer has slots for one ACK per credit.
    credits_.owe();
    const Status status = outbox.send(message, {}, make_token(PostKind::kMessage, 0));
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace exs::proto
