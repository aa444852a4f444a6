#include "service/node/receiving.h"

namespace exs::svc {
namespace {

// Of what has come before, or is nobody's.
constexpr std::uint64_t kNoTicket = 0;

}  // namespace

Receiving::Result Receiving::take(Link& link, const Header& header, Bytes frame) {
  using Turn = Incoming<Arrival>::Place;
  const std::optional<Data> data = decode_data(frame, header);
  const Turn turn = incoming_.place_of(header.number);
  if (!data || turn == Turn::kOutOfTurn) return Result::kLie;
  const bool has_longs = data->longs.count > 0;
  if (has_longs && !link.takes_longs()) return Result::kLie;
  if (turn == Turn::kTakenBefore) {
    incoming_.be_asked();
    if (!has_longs) return Result::kAgain;
    link_ = &link;
    link.receive_longs({}, *this, kNoTicket, {});
    return Result::kAgain;
  }
  Arrival arrival;
  arrival.number = header.number;
  arrival.kind = data->kind;
  arrival.call = data->call;
  arrival.status = data->status;
  Place where;
  if (!owner_.begin(*data, arrival, where)) return Result::kLie;
  arrival.is_here = !has_longs;
  if (!has_longs && !incoming_.has_waiting()) {
    incoming_.take();
    owner_.arrived(std::move(arrival));
    return Result::kTaken;
  }
  const std::uint64_t number = incoming_.wait(std::move(arrival));
  if (!has_longs) return Result::kTaken;
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
  incoming_.forget_waiting();
}

void Receiving::transfer_ended(std::uint64_t ticket, bool is_whole) {
  if (ticket == kNoTicket) return;
  --moving_;
  if (!is_whole) return;  // the link ends
  incoming_.waiting(ticket).is_here = true;
  incoming_.take_whole_ones([this](Arrival arrival) { owner_.arrived(std::move(arrival)); });
}

}  // namespace exs::svc
