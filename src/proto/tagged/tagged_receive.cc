// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/tagged/tagged_receive.h"

#include <algorithm>
#include <utility>

#include "src/log/log.h"
#include "src/proto/slice_cursor.h"
#include "src/wire/codec.h"

namespace exs::proto {

using wire::AckStatus;
using wire::MessageType;

namespace {

void add_windows(std::vector<RemoteSlice>& to, std::span<const std::byte> list) {
  for (std::size_t i = 0; i < list.size() / wire::kListEntryBytes; ++i) {
    const wire::Advert window = wire::list_entry(list, i);
    to.push_back({window.address, window.length_bytes, window.key});
  }
}

// The outcome of a receive that has all that it has room for.
Outcome outcome_of(std::uint64_t whole_bytes, const Operation& receive) noexcept {
  Outcome outcome{0, std::min<std::uint64_t>(whole_bytes, receive.memory.length_bytes), kEndOfMessage,
                  whole_bytes};
  if (outcome.length_bytes < whole_bytes) outcome.flags |= kTruncated;
  return outcome;
}

std::uint64_t bytes_of(const std::vector<RemoteSlice>& windows) noexcept {
  std::uint64_t bytes = 0;
  for (const RemoteSlice& window : windows) bytes += window.length_bytes;
  return bytes;
}

}  // namespace

TaggedReceives::TaggedReceives(Link& link, Slots& slots, Credits& credits, EagerWindow& eager,
                               Counters& counters, const Agreement& agreement, Inbox& inbox,
                               std::uint64_t chunk_bytes, std::uint32_t first_sequence)
    : ReceiveSide(link, counters, agreement, chunk_bytes),
      slots_(slots),
      credits_(credits),
      eager_(eager),
      counters_(counters),
      inbox_(inbox),
      small_bytes_(agreement.small_bytes),
      adverts_max_(agreement.tagged.adverts_in),
      next_sequence_(first_sequence) {}

// ---------------------------------------------------------------- from the peer

Arrival TaggedReceives::arrival_of(const wire::Header& header, const wire::Label& label,
                                   std::uint64_t payload_bytes) noexcept {
  return {.bits = label.bits,
          .data = label.data,
          .has_data = (header.flags & wire::kWithData) != 0,
          .length_bytes = payload_bytes,
          .id = label.id,
          .cost = EagerWindow::cost_of(payload_bytes)};
}

bool TaggedReceives::take_at_arrival(const wire::TaggedHead& head, const ArrivingMessage& message) {
  const std::size_t bytes = message.length_bytes();
  const Arrival arrival = arrival_of(head.header, head.label, bytes - head.fixed_bytes());
  const bool is_next = state_ == State::kOpen && head.header.sequence == next_sequence_ &&
                       credits_.peer_has_one() && bytes <= small_bytes_ + wire::kHeaderBytes &&
                       eager_.may_arrive(arrival.cost);
  if (!is_next) return false;
  eager_.hold(arrival.cost);
  ++next_sequence_;
  credits_.pass_through();
  accept(arrival, message, head.fixed_bytes());
  return true;
}

Status TaggedReceives::on_data(const wire::Message& message, std::uint64_t slot,
                               std::uint32_t message_bytes) {
  if (const Status status = credits_.data_arrived(); !status.ok()) return status;
  credits_.owe();
  if (message.header.sequence != next_sequence_) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: message {}, expected {}", message.header.sequence,
                 next_sequence_);
  }
  ++next_sequence_;
  const std::span<const std::byte> bytes = slots_.message(slot, message_bytes);
  if (message.header.type == MessageType::kTagged) {
    const Arrival arrival = arrival_of(message.header, message.label, message.payload_bytes);
    if (const Status status = eager_.arrived(arrival.cost); !status.ok()) return status;
    accept(arrival, ArrivingMessage(bytes), wire::fixed_bytes(message.header));
  } else {
    const auto windows = bytes.last(message.payload_bytes);
    const Status status = message.header.type == MessageType::kFetched ? on_fetched(message, windows)
                                                                       : on_advert(message, windows);
    if (!status.ok()) return status;
  }
  return slots_.free(slot);
}

void TaggedReceives::accept(const Arrival& arrival, const ArrivingMessage& message, std::size_t offset) {
  if (state_ == State::kStopped) return finish_kept(arrival, AckStatus::kRefused);
  if (inbox_.take(arrival, message, offset)) finish_kept(arrival, AckStatus::kTaken);
  if (wish_ && wish_->fits(arrival.bits)) renew_wish();
}

void TaggedReceives::finish_kept(const Arrival& arrival, AckStatus status) {
  eager_.owe(arrival.cost);
  const std::uint64_t taken = status == AckStatus::kTaken ? arrival.length_bytes : 0;
  if (arrival.id != 0) answers_.push_back({arrival.id, {status, taken}, false});
  if (status != AckStatus::kTaken) return;
  ++counters_.receives_done;
  counters_.bytes_received += arrival.length_bytes;
  counters_.copied_bytes += arrival.length_bytes;
}

Status TaggedReceives::count_advert(std::uint32_t sequence) {
  if (adverts_held_ >= adverts_allowed()) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: advert {}, and {} wait already", sequence,
                 adverts_held_);
  }
  ++counters_.adverts_received;
  if (++adverts_held_ == adverts_max_) inbox_.filled(true);
  return {};
}

void TaggedReceives::uncount_advert() noexcept {
  if (adverts_held_-- == adverts_max_) inbox_.filled(false);
}

Status TaggedReceives::on_advert(const wire::Message& message, std::span<const std::byte> windows) {
  const bool was_full = is_full();
  if (const Status status = count_advert(message.header.sequence); !status.ok()) return status;
  if (state_ == State::kStopped) {
    answer_advert(message.label.id, AckStatus::kRefused, 0);
    return {};
  }
  Advert advert;
  advert.id = message.label.id;
  add_windows(advert.windows, windows);
  advert.is_held = message.held_bytes > 0;
  advert.length_bytes = advert.is_held ? message.held_bytes : bytes_of(advert.windows);
  Arrival arrival = arrival_of(message.header, message.label, advert.length_bytes);
  arrival.cost = 0;
  const std::uint32_t number = kept_.take_number();
  kept_[number] = std::move(advert);
  prepare_read();
  if (const Operation* const receive = inbox_.announce(arrival, number); receive != nullptr)
    take_advert(take_kept(number), *receive);
  if (was_full != is_full() || (wish_ && wish_->fits(arrival.bits))) renew_wish();
  return {};
}

// They come in the order in which they were asked for.
Status TaggedReceives::on_fetched(const wire::Message& message, std::span<const std::byte> tail) {
  const bool is_part = (message.header.flags & wire::kPart) != 0;
  if (fetches_sent_ == 0 || (!is_part && fetches_.front().came_bytes > 0)) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: message {} brings what was not fetched",
                 message.header.sequence);
  }
  if (is_part) return on_part(tail);
  prepare_read();
  add_windows(fetches_.front().advert.windows, tail);
  --fetches_sent_;
  const Fetching fetched = fetches_.pop_front();
  const std::uint64_t bytes = bytes_of(fetched.advert.windows);
  if (bytes != 0 && bytes != fetched.advert.length_bytes) {
    end_unread(fetched.receive, EPROTO);
    return fault(LogLevel::kWarn, EPROTO, "protocol error: {} bytes were held, and are {} when fetched",
                 fetched.advert.length_bytes, bytes);
  }
  if (bytes != 0) {
    start_reads(fetched.advert, fetched.receive);
  } else {
    end_unread(fetched.receive, ENOMEM);
    answer_advert(fetched.advert.id, AckStatus::kRefused, 0);
  }
  return {};
}

// Drops bytes for which the receive has no room.
Status TaggedReceives::on_part(std::span<const std::byte> bytes) {
  Fetching& fetched = fetches_.front();
  const std::uint64_t whole = fetched.advert.length_bytes;
  if (bytes.size() > whole - fetched.came_bytes) {
    return fault(LogLevel::kWarn, EPROTO, "protocol error: parts of more than the {} bytes that were held",
                 whole);
  }
  fetched.into.fill_from(bytes);
  fetched.came_bytes += bytes.size();
  if (fetched.came_bytes < whole) return {};
  prepare_read();
  --fetches_sent_;
  const Fetching ended = fetches_.pop_front();
  deliveries_.push_back({ended.receive, outcome_of(whole, ended.receive), ended.advert.id, true});
  return {};
}

// ---------------------------------------------------------------- what the peer holds back

void TaggedReceives::renew_wish() noexcept {
  wish_ = is_full() ? inbox_.wanted() : std::nullopt;
  wish_is_due_ = wish_.has_value();
}

void TaggedReceives::want(const Wish& wish) {
  if (!is_full() || state_ != State::kOpen || (wish_ && wish_->covers(wish))) return;
  if (wish_) {
    wish_->include(wish);
  } else {
    wish_ = wish;
  }
  wish_is_due_ = true;
}

Status TaggedReceives::ask(Outbox& outbox) {
  for (; fetches_sent_ < fetches_.count() && outbox.has_room() && credits_.available() > 0; ++fetches_sent_) {
    wire::Message message;
    message.header.type = MessageType::kFetch;
    message.header.sequence = fetches_[fetches_sent_].advert.id;
    if (const Status status = outbox.send(message); !status.ok()) return status;
    credits_.spend();
  }
  if (!wish_is_due_ || state_ != State::kOpen || !outbox.has_room() || credits_.available() == 0) return {};
  wire::Message message;
  message.header.type = MessageType::kWant;
  message.label.bits = wish_->bits;
  message.ignore = wish_->ignore;
  if (const Status status = outbox.send(message); !status.ok()) return status;
  credits_.spend();
  wish_is_due_ = false;
  has_wished_ = true;
  return {};
}

// ---------------------------------------------------------------- what is read

TaggedReceives::Advert TaggedReceives::take_kept(std::uint32_t number) {
  kept_.give_back(number);
  return std::exchange(kept_[number], {});
}

void TaggedReceives::prepare_read() {
  const std::size_t receives = deliveries_.count() + fetches_.count() + 1;
  deliveries_.reserve(receives);
  fetches_.reserve(fetches_.count() + 1);
  answers_.reserve(answers_.count() + receives);
}

void TaggedReceives::read_kept(std::uint32_t advert, const Operation& receive) {
  take_advert(take_kept(advert), receive);
}

void TaggedReceives::refuse_kept(std::uint32_t advert) {
  answer_advert(take_kept(advert).id, AckStatus::kRefused, 0);
}

void TaggedReceives::take_advert(Advert advert, const Operation& receive) {
  if (!advert.is_held || receive.memory.length_bytes == 0) return start_reads(advert, receive);
  fetches_.push_back({receive, std::move(advert), SliceCursor(receive), 0});
}

void TaggedReceives::end_unread(const Operation& receive, int error) {
  deliveries_.push_back({receive, {error, 0, 0}, 0, true});
}

void TaggedReceives::start_reads(const Advert& advert, const Operation& receive) {
  const Outcome outcome = outcome_of(advert.length_bytes, receive);
  const std::uint64_t taken = outcome.length_bytes;
  const std::uint64_t id = first_id_ + deliveries_.count();
  deliveries_.push_back({receive, outcome, advert.id, taken == 0});
  SliceCursor memory(receive);
  std::uint64_t left = taken;
  for (RemoteSlice window : advert.windows) {
    while (left > 0 && window.length_bytes > 0) {
      const LocalSlice piece = memory.next(std::min(left, window.length_bytes));
      left -= piece.length_bytes;
      reads_.add(id, piece, window, left == 0);
      window.address += piece.length_bytes;
      window.length_bytes -= piece.length_bytes;
    }
  }
}

void TaggedReceives::on_read_done() {
  if (const auto id = reads_.on_done()) deliveries_[*id - first_id_].is_finished = true;
}

void TaggedReceives::deliver(OutcomeSink& sink) {
  while (!deliveries_.empty() && deliveries_.front().is_finished) {
    const Delivery ended = deliveries_.pop_front();
    ++first_id_;
    if (ended.outcome.error == 0) {
      answer_advert(ended.id, AckStatus::kTaken, ended.outcome.length_bytes);
      ++counters_.receives_done;
      counters_.bytes_received += ended.outcome.length_bytes;
      counters_.direct_bytes += ended.outcome.length_bytes;
    }
    sink.completed(Direction::kReceive, ended.receive, ended.outcome);
  }
}

// ---------------------------------------------------------------- answers and endings

Status TaggedReceives::send_answers(Outbox& outbox) {
  for (; !answers_.empty() && outbox.has_room() && credits_.available() > 0; answers_.drop_front()) {
    wire::Message message;
    message.header.type = MessageType::kAck;
    message.header.sequence = answers_.front().id;
    message.ack = answers_.front().ack;
    if (const Status status = outbox.send_at_leisure(message); !status.ok()) return status;
    credits_.spend();
    if (answers_.front().is_of_advert) uncount_advert();
  }
  if (const Status status = ask(outbox); !status.ok()) return status;
  if (!return_is_due() || !outbox.has_room()) return {};
  wire::Message message;
  message.header.type = MessageType::kReturn;
  message.label.returned_bytes = eager_.owed();
  if (const Status status = outbox.send(message); !status.ok()) return status;
  eager_.returned(message.label.returned_bytes);
  return {};
}

void TaggedReceives::stop(const Outcome& /*outcome*/) {
  state_ = State::kStopped;
}

void TaggedReceives::fail_all(int error) {
  wish_is_due_ = false;
  for (fetches_sent_ = 0; !fetches_.empty(); fetches_.drop_front())
    end_unread(fetches_.front().receive, error);
  for (std::size_t i = 0; i < deliveries_.count(); ++i) {
    deliveries_[i].is_finished = true;
    deliveries_[i].outcome = {error, 0, 0};
  }
  answers_.clear();
  kept_.clear();
  state_ = State::kStopped;
}

}  // namespace exs::proto
