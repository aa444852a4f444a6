// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/receiving.h"

#include <algorithm>

#include "base/check.h"

namespace exs::svc {
namespace {

// For repeated messages and those that nobody gets.
constexpr std::uint64_t kNoTicket = 0;

}  // namespace

Receiving::Result Receiving::take(Link& link, const Header& header, Bytes frame) {
  using Turn = Incoming<Arrival>::MessageTurn;
  const std::optional<Data> data = decode_data(frame, header);
  const Turn turn = incoming_.turn_of(header.number);
  if (!data || turn == Turn::kOutOfTurn) return Result::kProtocolError;
  const bool by_lane = data->lane_count.value_or(0) > 0;
  const bool by_bulk = data->longs.count > 0 && !by_lane;
  if ((by_bulk && !link.takes_longs()) || (by_lane && !is_next_of_lane(*data))) return Result::kProtocolError;
  if (turn == Turn::kTakenBefore) {
    incoming_.be_asked();
    if (!by_bulk) return Result::kAgain;
    link_ = &link;
    link.receive_longs({}, *this, kNoTicket, {});
    return Result::kAgain;
  }
  Arrival arrival;
  arrival.number = header.number;
  arrival.kind = data->kind;
  arrival.call = data->call;
  arrival.status = data->status;
  Destination where;
  if (!owner_.begin(*data, arrival, where)) return Result::kProtocolError;
  if (by_lane && arrival.message != nullptr) arrival.lane_count = lane_named_;
  arrival.is_here = !by_bulk && arrival.lane_count <= lane_written_;
  if (arrival.is_here && !incoming_.has_waiting()) {
    incoming_.take([&] { owner_.arrived(arrival); });
    return Result::kTaken;
  }
  const std::uint64_t number = incoming_.wait(std::move(arrival));
  if (!by_bulk) return Result::kTaken;
  ++moving_;
  link_ = &link;
  link.receive_longs(std::move(where.pieces), *this, number, std::move(where.keeps));
  return Result::kTaken;
}

bool Receiving::skip(Link& link, const Header& header, Bytes frame) {
  const std::optional<Data> data = decode_data(frame, header);
  const bool has_longs = data && data->longs.count > 0;
  if (!data || (has_longs && !link.takes_longs())) return false;
  if (!has_longs) return true;
  link_ = &link;
  link.receive_longs({}, *this, kNoTicket, {});
  return true;
}

void Receiving::leave() {
  if (link_ != nullptr) link_->forget(*this);
  link_ = nullptr;
  moving_ = 0;
  lane_named_ = lane_written_ = 0;
  incoming_.forget_waiting();
}

// Writes of the lane have consecutive numbers, and each belongs to one reply.
bool Receiving::is_next_of_lane(const Data& data) {
  const std::span<const std::uint64_t> lengths = std::span(data.longs.bytes).first(data.longs.count);
  const auto empty = static_cast<std::size_t>(std::count(lengths.begin(), lengths.end(), 0U));
  lane_named_ += lengths.size() - empty;
  return empty < lengths.size() && *data.lane_count == lane_named_;
}

void Receiving::lane_was_written(std::uint32_t transfers) {
  lane_written_ += transfers;
  incoming_.for_each_waiting([this](Arrival& arrival) {
    if (arrival.lane_count > 0 && arrival.lane_count <= lane_written_) arrival.is_here = true;
  });
  take_whole_ones();
}

void Receiving::transfer_ended(std::uint64_t ticket, bool is_whole) {
  if (ticket == kNoTicket) return;
  EXS_CHECK(moving_ > 0);
  --moving_;
  if (!is_whole) return;  // the link is ending
  incoming_.waiting(ticket).is_here = true;
  take_whole_ones();
}

void Receiving::take_whole_ones() {
  incoming_.take_whole_ones([this](Arrival& arrival) { owner_.arrived(arrival); });
}

}  // namespace exs::svc
