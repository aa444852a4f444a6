// The receive operations of a message connection, matched in order with the peer's data messages. A receive
// that matches, or ends without a match, becomes a delivery (deliveries.h).
//
// Design notes
//  1. A persistent send of the peer is accepted when it arrives and then waits its turn among the messages.
//     At the head it is the active window: it stays there, and every receive becomes READs of it.
//  2. A persistent receive becomes active in its turn (persistent_receive.h): its memory is offered to the
//     peer. Messages that the peer sends before it knows the offer are put into it, one at a time.
//     Messages that come after it was revoked wait for later receives.
//  3. A persistent send and a persistent receive of one direction are never active together. The operation that
//     finds the other side's ends with EBUSY (the sender's by an ACK, in its turn). So a persistent receive becomes
//     active only after the RELEASE of the peer's window.
//  4. A window that its owner revoked leaves a mark in the queue if no receive was reading it: the next plain
//     receive that reaches the mark ends with ECANCELED. Receives at an offset do until the peer sends
//     something.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/fifo.h"
#include "src/proto/hello.h"
#include "src/proto/message/arrived_messages.h"
#include "src/proto/message/deliveries.h"
#include "src/proto/message/persistent_receive.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/proto/persistence/peer_window.h"
#include "src/proto/receive_side.h"
#include "src/proto/short_path.h"
#include "src/proto/slots.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class MessageReceives final : public ReceiveSide {
 public:
  MessageReceives(ShortPath& path, Slots& slots, const Agreement& agreement, std::uint64_t chunk_bytes);

  bool post(const Operation& operation) override;
  Status on_data(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes) override;
  // Gives an immediate that still lies with the provider to the waiting receive, with its outcome. Requires is_plain_and_quiet().
  // False: no receive waits, or the message is not the expected one; nothing has changed.
  bool take(const wire::Header& header, const ArrivingMessage& message, OutcomeSink& sink);
  bool read_now(const Operation& operation, Outcome& outcome) override;
  // A plain receive that is posted waits for the peer, and the peer's next immediate goes to the first that waits. Holds until the
  // next step that is not short.
  [[nodiscard]] bool is_plain_and_quiet() const noexcept {
    return has_nothing_before_receives() && state_ == State::kOpen && open_persistent_ == 0 &&
           !peer_window_.is_held() && !offsets_cancelled_;
  }
  [[nodiscard]] bool may_read_now() const noexcept override { return peer_window_.is_active(); }
  [[nodiscard]] bool took_directly() const noexcept override { return taken_directly_; }
  Status on_control(const wire::Message& message) override;
  Status on_recall(const wire::Message& message) override;
  void on_read_done() override;
  void stop(const Outcome& outcome) override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  Status match() override;
  void deliver(OutcomeSink& sink) override;
  Status send_answers(Outbox& outbox) override;
  Status send_notices(Outbox& outbox) override;

  [[nodiscard]] bool settled() const noexcept override {
    return deliveries_.empty() && !deliveries_.ack_is_due() && !recall_answer_.is_due() &&
           !persistent_receive_.is_active() && !peer_window_.is_held();
  }
  [[nodiscard]] std::size_t adverts_held() const noexcept override {
    return arrived_.adverts_held() + recall_answer_.adverts_held() + (peer_window_.is_held() ? 1 : 0);
  }
  [[nodiscard]] std::size_t credits_held() const noexcept override {
    return arrived_.adverts_held() + recall_answer_.adverts_held() + arrived_.immediates_held();
  }
  [[nodiscard]] bool has_data() const noexcept override {
    return !arrived_.empty() || state_ != State::kOpen;
  }
  [[nodiscard]] std::uint64_t next_bytes() const noexcept override { return arrived_.next_bytes(); }
  [[nodiscard]] bool returns_credits_at_once() const noexcept override {
    return persistent_receive_.is_advertised();
  }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override;

 private:
  struct CancelledReceive {
    Operation operation;
    Outcome outcome;
  };

  [[nodiscard]] bool has_nothing_before_receives() const noexcept {
    return arrived_.empty() && deliveries_.empty() && cancelled_.empty() && !persistent_receive_.is_active();
  }
  // The next immediate belongs to path_.receives.front().
  [[nodiscard]] bool receive_waits() noexcept;
  Status on_immediate(std::uint64_t slot, std::uint32_t message_bytes);
  Status on_advert(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes);
  Status take_directly(std::uint64_t slot, std::uint32_t message_bytes);
  void deliver_direct(OutcomeSink& sink);
  void deliver_failed(OutcomeSink& sink);
  Result<bool> match_one();
  Result<bool> match_message();
  bool match_revoked();
  bool activate_persistent_receive();
  Result<bool> write_into_persistent_receive();
  Status start_advert(const Operation& operation, const ArrivedMessage& message, Delivery::Kind kind);
  Status start_immediate(const Operation& operation, const ArrivedMessage& message, Delivery::Kind kind);
  void read_window(const Operation& operation);
  [[nodiscard]] std::uint64_t window_bytes_for(const Operation& operation) const noexcept;
  Status answer(const ArrivedMessage& advert, wire::AckStatus status);
  Status on_revoke(const wire::Message& message);
  void revoke_persistent();
  void end_open_receives(const Outcome& outcome);
  Status refuse_waiting();

  [[nodiscard]] bool owns_direction() const noexcept {
    return open_persistent_ > 0 || persistent_receive_.is_active();
  }

  ShortPath& path_;
  ArrivedMessages arrived_;  // messages without a receive; the active window
  std::size_t open_persistent_ = 0;
  Deliveries deliveries_;
  Fifo<CancelledReceive> cancelled_;  // outcomes that need not wait their turn
  PersistentReceive persistent_receive_;
  PeerWindow peer_window_;  // of the peer's persistent send
  bool offsets_cancelled_ = false;
  // An immediate has found a waiting plain receive, with nothing before it. That receive is path_.receives.front()
  // until its outcome, in the same step, so that only the payload is copied.
  bool taken_directly_ = false;
  bool has_failed_ = false;
  Outcome direct_outcome_;
};

}  // namespace exs::proto
