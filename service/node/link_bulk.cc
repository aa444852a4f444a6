// The bulk: a link's connection for long items, how it is made, and what it carries. A lane is made in the same way.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>

#include "base/check.h"
#include "base/contain.h"
#include "service/names/address.h"
#include "service/node/link.h"

namespace exs::svc {
namespace {

// The next announced item has to arrive within the time that the slowest network needs. So no memory is kept for items that never come.
constexpr std::uint64_t kLateNs = 5000 * kNsPerMs;

}  // namespace

// Which is destroyed then, so its link ends here if memory runs out.
void Transfer::take(const exs_event_t& event) {
  Link& of = link;
  contain([&] { of.transfer_over(*this, event); }, [&] { of.end(ENOMEM); });
}

// ---------------------------------------------------------------- how it is made

void Link::want_bulk() {
  if (has_asked_for_bulk_ || partner_ != nullptr || state_ != State::kUp) return;
  has_asked_for_bulk_ = true;
  if (is_initiator_) return client_.bulk_wanted(*this);
  std::array<std::uint8_t, kHeaderBytes> room;
  send(encode_bare(room, {.type = FrameType::kWantBulk}));
}

Status Link::connect_bulk_of(Link& link) {
  EXS_CHECK(link.role_ == LinkRole::kLink && link.partner_ == nullptr);
  role_ = LinkRole::kBulk;
  if (const Status begun = connect(link.address_, kConnectMs); !begun.ok()) return begun;
  partner_ = &link;
  link.partner_ = this;
  return {};
}

// The acceptor sends the normal hello, then a second one that names the link or lane; long items may follow.
Status Link::begin_partner() {
  enter(State::kGreetingPartner);
  watch_silence();
  for (auto& greeting : greetings_)
    if (exs_recv(socket_, greeting.data(), greeting.size(), 0, queue_, handle(), EXS_MHANDLE_UNREGISTERED) !=
        0)
      return Status(errno);
  send_partner_hello();
  return {};
}

Hello Link::hello_of_partner() const {
  Hello hello;
  hello.nonce = is_bulk() ? partner_->token() : lane_token(partner_->nonces(), flow_);
  hello.is_of_bulk = is_bulk();
  hello.is_of_lane = role_ == LinkRole::kLane;
  hello.flow = flow_;
  return hello;
}

void Link::send_partner_hello() {
  std::array<std::uint8_t, kFrameMax> room;
  send(encode_hello(room, hello_of_partner()));
}

void Link::become_bulk_of(Link& link) {
  EXS_CHECK(link.role_ == LinkRole::kLink && link.partner_ == nullptr);
  role_ = LinkRole::kBulk;
  partner_ = &link;
  link.partner_ = this;
  enter(State::kHandingOver);
  exs_cancel(socket_, handle(), EXS_CAF_FILDES | EXS_CAF_AHANDLE);
}

// Handles a greeting. At the acceptor it also handles the end of the receive that took the first one, at the initiator that of a lane's
// memory.
void Link::on_partner_event(const exs_event_t& event) {
  if (state_ == State::kHandingOver && event.exs_evt_errno == ECANCELED) {
    enter(State::kUp);
    send_partner_hello();
    return bulk_up();
  }
  const std::size_t index = greetings_heard_;
  const std::size_t bytes = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
  if (state_ != State::kGreetingPartner || event.exs_evt_errno != 0 ||
      (event.exs_evt_flags & EXS_EVF_TRUNC) != 0)
    return end();
  const Bytes frame = Bytes(greetings_[index]).first(bytes);
  const std::optional<Header> header = decode_header(frame);
  const std::optional<Hello> hello =
      header && header->type == FrameType::kHello ? decode_hello(frame) : std::nullopt;
  const bool is_last = ++greetings_heard_ == kGreetings;
  const bool is_right =
      hello && (is_last ? *hello == hello_of_partner() : !hello->is_of_bulk && !hello->is_of_lane);
  if (!is_right) return refuse();
  if (!is_last) return;
  enter(State::kUp);
  if (is_bulk()) return bulk_up();
  if (!post_arena().ok()) end(ENOMEM);
}

void Link::bulk_up() {
  longs_flags_ = is_by_shm(socket_) ? EXS_NO_IMMEDIATE : 0;  // by shm, reading is faster than copying twice
  if (partner_->state_ == State::kUp) client_.bulk_is_up(*partner_);
}

// ---------------------------------------------------------------- what it carries

void Link::send_longs(Transfer::Pieces pieces, TransferClient& client, std::uint64_t ticket) {
  partner_->post_longs(exs_sendmsg, partner_->longs_flags_, std::move(pieces), client, ticket, {});
}

void Link::receive_longs(Transfer::Pieces pieces, TransferClient& client, std::uint64_t ticket,
                         std::shared_ptr<void> keeps) {
  partner_->post_longs(exs_recvmsg, 0, std::move(pieces), client, ticket, std::move(keeps));
}

void Link::post_longs(Post post, int flags, Transfer::Pieces pieces, TransferClient& client,
                      std::uint64_t ticket, std::shared_ptr<void> keeps) {
  auto transfer = std::make_unique<Transfer>(*this, std::move(pieces), client, ticket, std::move(keeps));
  Transfer* const posted = transfer.get();
  posted->is_receive = post == exs_recvmsg;
  transfers_.emplace(posted, std::move(transfer));
  if (posted->is_receive) {
    receives_.push_back(posted);
    if (receives_.size() == 1) expect_next();
  }
  // On failure the client gets its notification when the link has gone.
  if (post(socket_, &posted->header, flags, queue_, static_cast<EventTarget*>(posted)) == 0) return;
  if (posted->is_receive) return end();
  send_failed(errno);
}

// Sets the time limit of the next item; run_timers() ends the link if it is late.
void Link::expect_next() {
  due_ns_ = kNeverNs;
  if (receives_.empty()) return;
  expect_until(time_after(boottime_ns(), kLateNs + slowest_ns(receives_.front()->bytes)));
}

// A send is whole however much the other end took of it. So is a receive into no memory. If memory runs out before the client is
// notified, end_transfers() does so.
void Link::transfer_over(Transfer& transfer, const exs_event_t& event) {
  if (role_ == LinkRole::kLane) return part_written(transfer, event);
  if (transfer.is_receive) {
    std::erase(receives_, &transfer);
    if (state_ != State::kEnding) expect_next();
  }
  const std::size_t moved_bytes = event.exs_evt_union.exs_evt_xfermsg.exs_evt_length;
  const bool is_all =
      (event.exs_evt_flags & (EXS_EVF_TRUNC | EXS_EVF_EOF)) == 0 && moved_bytes == transfer.bytes;
  const bool is_into_nothing = transfer.pieces.empty() && (event.exs_evt_flags & EXS_EVF_EOF) == 0;
  const bool is_whole = event.exs_evt_errno == 0 && (!transfer.is_receive || is_all || is_into_nothing);
  if (!is_whole && transfer.is_receive) end(event.exs_evt_errno == 0 ? EPROTO : 0);
  if (!is_whole && !transfer.is_receive) send_failed(event.exs_evt_errno);
  const auto owned = std::move(transfers_.extract(&transfer).mapped());
  if (owned->client != nullptr) owned->client->transfer_ended(owned->ticket, is_whole);
}

void Link::end_transfers() {
  receives_.clear();
  for (const auto& [transfer, owned] : std::exchange(transfers_, {}))
    if (owned->client != nullptr) owned->client->transfer_ended(owned->ticket, false);
}

void Link::forget(const TransferClient& client) {
  if (partner_ == nullptr) return;
  for (const auto& [transfer, owned] : partner_->transfers_)
    if (transfer->client == &client) transfer->client = nullptr;
}

}  // namespace exs::svc
