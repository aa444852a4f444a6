// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/message/deliveries.h"

#include <algorithm>

#include "src/proto/slice_cursor.h"
#include "src/wire/codec.h"

namespace exs::proto {

using wire::AckStatus;
using Kind = Delivery::Kind;

void Deliveries::add_end(const Operation& operation, const Outcome& outcome) {
  deliveries_.push_back(
      {Kind::kReceive, true, MessageSource::kNothing, AckStatus::kTaken, 0, operation, outcome});
}

void Deliveries::add_reads(const Delivery& delivery, const RemoteSlice& first_window,
                           std::span<const std::byte> list) {
  const std::uint64_t id = first_id_ + deliveries_.count();
  const std::uint64_t bytes = delivery.outcome.length_bytes;
  deliveries_.push_back(delivery).finished = bytes == 0;
  if (delivery.source == MessageSource::kWindow && bytes > 0) ++window_reads_;
  std::size_t next_window = 0;
  RemoteSlice window = first_window;
  SliceCursor memory(delivery.operation);
  for (std::uint64_t left = bytes; left > 0;) {
    if (window.length_bytes == 0) {
      const wire::Advert next = wire::list_entry(list, next_window++);
      window = {next.address, next.length_bytes, next.key};
    }
    const LocalSlice piece = memory.next(std::min(left, window.length_bytes));
    left -= piece.length_bytes;
    reads_.add(id, piece, window, left == 0);
    window.address += piece.length_bytes;
    window.length_bytes -= piece.length_bytes;
  }
}

const Delivery* Deliveries::on_read_done() {
  const auto id = reads_.on_done();
  if (!id) return nullptr;
  Delivery& done = deliveries_[*id - first_id_];
  done.finished = true;
  if (done.source == MessageSource::kWindow) --window_reads_;
  return &done;
}

bool Deliveries::cancel_window_reads() {
  bool any = false;
  for (std::size_t i = 0; i < deliveries_.count(); ++i) {
    Delivery& delivery = deliveries_[i];
    if (delivery.source != MessageSource::kWindow || delivery.finished) continue;
    any = true;
    delivery.outcome = {ECANCELED, 0, 0};
    if (reads_.abandon(first_id_ + i)) continue;
    delivery.finished = true;
    --window_reads_;
  }
  return any;
}

void Deliveries::fail_all(const Outcome& outcome) {
  for (std::size_t i = 0; i < deliveries_.count(); ++i) {
    deliveries_[i].finished = true;
    deliveries_[i].source = MessageSource::kNothing;
    deliveries_[i].outcome = outcome;
  }
}

void Deliveries::deliver(OutcomeSink& sink) {
  while (!deliveries_.empty() && deliveries_.front().finished) {
    if (deliveries_.front().source == MessageSource::kAdvert) acks_.reserve(acks_.count() + 1);
    const Delivery ended = deliveries_.pop_front();
    ++first_id_;
    const std::uint64_t bytes = ended.outcome.length_bytes;
    if (ended.source == MessageSource::kAdvert) acks_.push_back({ended.sequence, {ended.answer, bytes}});
    if (ended.kind == Kind::kAnswer) continue;
    count(ended);
    if (ended.kind == Kind::kReceive) {
      sink.completed(Direction::kReceive, ended.operation, ended.outcome);
    } else if (ended.operation.notify && ended.source != MessageSource::kNothing) {
      sink.used(Direction::kReceive, ended.operation, {bytes, ended.operation.offset, 1});
    }
  }
}

void Deliveries::count(const Delivery& ended) {
  if (ended.source == MessageSource::kNothing || ended.outcome.error != 0) return;
  const std::uint64_t bytes = ended.outcome.length_bytes;
  counters_.bytes_received += bytes;
  (ended.source == MessageSource::kImmediate ? counters_.copied_bytes : counters_.direct_bytes) += bytes;
}

Status Deliveries::send_ack(Outbox& outbox) {
  wire::Message message;
  message.header.type = wire::MessageType::kAck;
  message.header.sequence = acks_.front().sequence;
  message.ack = acks_.front().ack;
  if (const Status status = outbox.send_at_leisure(message); !status.ok()) return status;
  acks_.pop_front();
  return {};
}

std::uint32_t Deliveries::count_begun(const Selection& selection) const {
  std::uint32_t begun = 0;
  for (std::size_t i = 0; i < deliveries_.count(); ++i) {
    const Delivery& delivery = deliveries_[i];
    const bool is_open = delivery.kind == Kind::kReceive && !delivery.finished;
    if (is_open && selection.matches(delivery.operation)) ++begun;
  }
  return begun;
}

std::uint64_t Deliveries::oldest_post_ns() const noexcept {
  for (std::size_t i = 0; i < deliveries_.count(); ++i) {
    const Operation& operation = deliveries_[i].operation;
    if (deliveries_[i].kind == Kind::kReceive && !operation.persistent && operation.posted_ns != 0)
      return operation.posted_ns;
  }
  return UINT64_MAX;
}

}  // namespace exs::proto
