// Messages of a peer: what its connection hands over, and what the endpoint does with those that it has kept.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/contain.h"
#include "event/message/endpoint.h"
#include "event/message/peer.h"

namespace exs {

std::unique_ptr<Kept> Peer::kept_of(const proto::Arrival& arrival) {
  auto kept = std::make_unique<Kept>();
  kept->from = this;
  kept->source = rank_;
  kept->arrival = arrival;
  return kept;
}

bool Peer::take(const proto::Arrival& arrival, const ArrivingMessage& message, std::size_t offset) {
  if (Request* const receive = endpoint_.take_receive({rank_, arrival.bits}); receive != nullptr) {
    endpoint_.fill(*receive, rank_, arrival, message, offset);
    return true;
  }
  auto kept = kept_of(arrival);
  kept->bytes.reset(new std::byte[arrival.length_bytes]);
  message.copy(offset, {kept->bytes.get(), arrival.length_bytes});
  endpoint_.keep(std::move(kept));
  return false;
}

Status Peer::prepare(Request& receive) const noexcept {
  return contained_status([&] { return prepare_memory(receive); });
}

Status Peer::prepare_memory(Request& receive) const {
  if (!session_->needs_registered_memory() || receive.operation.memory.length_bytes == 0) return Status();
  const std::size_t pieces = std::max<std::size_t>(1, receive.pieces.size());
  auto attachment = Attachment::create(endpoint_.shard()->providers(), pieces, 0);
  if (!attachment) return Status(ENOMEM);
  const auto add = [&](const LocalSlice& piece) {
    if (piece.length_bytes == 0) return Status();
    return attachment->add(std::span(piece.address, piece.length_bytes), Access::kLocal);
  };
  Status status;
  if (receive.operation.vector.empty()) status = add(receive.operation.memory);
  for (const LocalSlice& piece : receive.operation.vector) {
    if (status.ok()) status = add(piece);
  }
  if (!status.ok()) return status;
  attachment->describe(receive.operation);
  receive.attachment = std::move(attachment);
  return Status();
}

// If a receive's memory cannot be registered, the receive ends, and the message waits for another one.
const proto::Operation* Peer::announce(const proto::Arrival& arrival, std::uint32_t advert) {
  while (Request* const receive = endpoint_.take_receive({rank_, arrival.bits})) {
    if (const Status status = prepare(*receive); !status.ok()) {
      endpoint_.end(*receive, status.error());
      continue;
    }
    Endpoint::describe(*receive, rank_, arrival);
    ++endpoint_.counters().expected;
    return &receive->operation;
  }
  auto kept = kept_of(arrival);
  kept->is_advert = true;
  kept->advert = advert;
  endpoint_.keep(std::move(kept));
  return nullptr;
}

void Peer::filled(bool is_full) noexcept {
  if (std::exchange(is_full_, is_full) != is_full) endpoint_.note_full(is_full);
}

std::optional<proto::Wish> Peer::wanted() const noexcept {
  return endpoint_.wanted_of(rank_);
}

bool Peer::want(const proto::Wish& wish) {
  if (!is_full_ || !session_) return false;
  return session_->with_connection([&](proto::Connection& connection) { connection.want(wish); });
}

void Peer::finish_kept(const proto::Arrival& arrival, bool taken) {
  if (!session_) return;
  session_->with_connection([&](proto::Connection& connection) { connection.finish_kept(arrival, taken); });
}

Status Peer::read_kept(std::uint32_t advert, Request& receive) {
  if (!session_) return Status(ECONNRESET);
  if (const Status status = prepare(receive); !status.ok()) return status;
  Status status(ECONNRESET);
  session_->with_connection([&](proto::Connection& connection) {
    status = Status(connection.prepare_read() ? 0 : ENOMEM);
    if (status.ok())
      connection.read_kept(advert, receive.operation);  // the connection ends the receive, whatever happens
  });
  return status;
}

void Peer::refuse_kept(std::uint32_t advert) {
  if (!session_) return;
  session_->with_connection([&](proto::Connection& connection) { connection.refuse_kept(advert); });
}

}  // namespace exs
