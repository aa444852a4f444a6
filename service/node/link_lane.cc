// The lane of a flow: the acceptor writes replies by it into memory of the initiator. It carries nothing else.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "service/node/link.h"
#include "service/node/return_arena.h"

namespace exs::svc {

// ---------------------------------------------------------------- the initiator

Status Link::connect_lane_of(Link& link, std::uint32_t flow, const ReturnArena& arena, LaneClient& client) {
  role_ = LinkRole::kLane;
  flow_ = flow;
  arena_ = &arena;
  link.lanes_.reserve(link.lanes_.size() + 1);
  if (const Status begun = connect(link.address_, kConnectMs); !begun.ok()) return begun;
  partner_ = &link;
  lane_client_ = &client;
  link.lanes_.push_back(this);
  return {};
}

// This is the lane's last receive: all later data is written into its memory.
Status Link::post_arena() {
  return kernel_status(exs_recv(socket_, arena_->start(), arena_->bytes(), EXS_PERSISTENT | EXS_NOTIFY,
                                queue_, handle(), arena_->region()));
}

// ---------------------------------------------------------------- the acceptor

// The initiator sends nothing else on a lane. Writes wait in exs until it has posted its memory.
void Link::become_lane_of(Link& link, std::uint32_t flow, LaneClient& client) {
  role_ = LinkRole::kLane;
  flow_ = flow;
  partner_ = &link;
  lane_client_ = &client;
  link.lanes_.push_back(this);
  enter(State::kUp);
  send_partner_hello();
}

void Link::write_longs(Transfer::Pieces pieces, const std::vector<std::uint32_t>& offsets,
                       TransferClient& client, std::uint64_t ticket) {
  auto transfer = std::make_unique<Transfer>(*this, std::move(pieces), client, ticket, nullptr);
  Transfer* const posted = transfer.get();
  transfers_.emplace(posted, std::move(transfer));
  posted->parts =
      static_cast<std::size_t>(std::count_if(posted->pieces.begin(), posted->pieces.end(),
                                             [](const exs_iovec_t& piece) { return piece.iov_len > 0; }));
  for (std::size_t i = 0; i < posted->pieces.size(); ++i) {
    const exs_iovec_t& piece = posted->pieces[i];
    if (piece.iov_len == 0) continue;
    if (exs_send_offset(socket_, piece.iov_base, piece.iov_len, 0, queue_, static_cast<EventTarget*>(posted),
                        piece.iov_mhandle, offsets[i]) != 0)
      return end();  // the client is notified when the lane has gone
  }
}

void Link::part_written(Transfer& transfer, const exs_event_t& event) {
  // A request of this link named memory that does not exist.
  if (event.exs_evt_errno == ERANGE) partner_->end(EPROTO);
  if (event.exs_evt_errno != 0) end();
  EXS_CHECK(transfer.parts > 0);
  if (--transfer.parts > 0) return;
  const auto owned = std::move(transfers_.extract(&transfer).mapped());
  if (owned->client != nullptr) owned->client->transfer_ended(owned->ticket, event.exs_evt_errno == 0);
}

// ---------------------------------------------------------------- its end

void Link::lane_has_ended() {
  Link* const link = partner_;
  if (lane_client_ != nullptr) std::exchange(lane_client_, nullptr)->lane_has_gone();
  client_.lane_has_gone(*this);
  if (link == nullptr) return;
  std::erase(link->lanes_, this);
  if (link->has_all_gone()) client_.link_has_gone(*link);
}

}  // namespace exs::svc
