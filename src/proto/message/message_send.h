// The send operations of a message connection, from post to outcome. They leave in post order, each as an
// advert, an immediate or RDMA WRITEs. They end in post order even if a later one finishes first.
//
// Design notes
//  1. A persistent send leaves in its turn and owns the direction: nothing is sent behind it until it has
//     ended. A send that is posted behind it ends with EBUSY. If it is being revoked, that send waits instead.
//  2. While a persistent receive of the peer is active, sends write into it and need neither credit nor
//     answer. The first write waits until every credit is back: then all earlier messages lie where they
//     belong, and no write can overtake one. Nothing is sent between the end of that receive and our RELEASE.
//  3. When the peer revokes its persistent receive, the sends that were writing end with ECANCELED; if there
//     was none, the next plain one does. Sends at an offset do until the peer offers memory again.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "base/fifo.h"
#include "src/proto/advert.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/persistence/owned_window.h"
#include "src/proto/persistence/peer_window.h"
#include "src/proto/rdma_chunks.h"
#include "src/proto/send_side.h"
#include "src/proto/short_path.h"

namespace exs::proto {

// Thread: shard.
class MessageSends final : public SendSide {
 public:
  MessageSends(ShortPath& path, Outbox& outbox, const Agreement& agreement, std::uint64_t chunk_bytes);

  void post(const Operation& operation) override;
  bool send_now(const Operation& operation) override;
  // Nothing that waits, here or at the peer, comes before the next send. Holds until the next step that is not short.
  [[nodiscard]] bool may_send_short() const noexcept { return is_first() && all_sent(); }
  Status transmit() override;
  void flush() override { released_ = operations_.count(); }
  void on_sent(std::uint64_t operation_id) override;
  void on_write_done(std::uint64_t operation_id) override;
  Status on_control(const wire::Message& message) override;
  void stop(int error) override;
  void on_all_received() override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  void deliver(OutcomeSink& sink) override;

  [[nodiscard]] bool all_sent() const noexcept override {
    return handled_ == operations_.count() && !owned_.revoke_is_due();
  }
  [[nodiscard]] bool idle() const noexcept override {
    return operations_.empty() && !offered_.is_held() && !adverts_.recalling();
  }
  [[nodiscard]] bool adverts_outstanding() const noexcept override {
    return adverts_.outstanding() > 0 || adverts_.recalling() || owned_.is_open();
  }
  [[nodiscard]] bool window_held() const noexcept override { return offered_.is_held(); }
  [[nodiscard]] Result<RemoteSlice> mappable_window() const override { return offered_.mappable(); }
  [[nodiscard]] bool awaits_notices() const noexcept override { return owned_.wants_notices(); }
  [[nodiscard]] bool stalled() const noexcept override {
    return released_ > handled_ && path_.credits.available() == 0 && !owned_.is_open() && !offered_.is_held();
  }
  [[nodiscard]] bool can_send(bool has_credit) const noexcept override {
    return all_sent() && !owned_.is_open() && (may_write() || has_credit);
  }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override;

 private:
  [[nodiscard]] bool is_first() const noexcept {
    return operations_.empty() && stop_error_ == 0 && !owned_.is_open() && !offered_.is_held() &&
           !adverts_.recall_is_due() && !plain_cancel_due_;
  }
  // The result of a cancel.
  enum class Taking : std::uint8_t { kEnded, kAsked, kBegun };
  // kCancelled: its outcome is due out of turn; kGone: the outcome has been given.
  enum class State : std::uint8_t { kWaiting, kWriting, kSent, kFinished, kCancelled, kGone };
  struct QueuedMessage {
    Operation operation;
    State state = State::kWaiting;
    Outcome outcome;
    std::unique_ptr<std::byte[]> copy;  // of pieces too many for an advert, until its ACK
  };

  void revoke() override;
  // False: it must wait.
  Result<bool> start(QueuedMessage& next);
  Result<bool> send_message(QueuedMessage& next);
  Status start_persistent(QueuedMessage& next);
  Status send_immediately(QueuedMessage& next);
  Status send_advert(QueuedMessage& next);
  Result<Windows> open_windows(QueuedMessage& next);
  void write(QueuedMessage& next);
  Status end_windows();
  Status on_ack(const wire::Message& message);
  Status on_ack_of_owned(wire::AckStatus answer);
  Status on_offer(const wire::Message& message);
  Status on_revoke(const wire::Message& message);
  void end_owned(const Outcome& outcome);
  Status on_recall_ack(const wire::Message& message);
  Taking cancel_one(QueuedMessage& entry, std::uint64_t operation_id, int error);

  [[nodiscard]] bool may_write() const noexcept { return offered_.is_active() && earlier_landed_; }
  [[nodiscard]] bool is_busy() const noexcept;
  QueuedMessage& entry(std::uint64_t operation_id) { return operations_[operation_id - first_id_]; }
  static void refuse(QueuedMessage& unsent, int error);
  static bool is_open(const QueuedMessage& entry) { return entry.state < State::kFinished; }
  void note_stall();

  ShortPath& path_;
  Outbox& outbox_;
  const Agreement& agreement_;
  Adverts adverts_;
  OwnedWindow owned_;   // of a persistent send
  PeerWindow offered_;  // of the peer's persistent receive
  RdmaWrites writes_;
  Fifo<QueuedMessage> operations_;
  std::uint64_t first_id_ = 0;             // of the operation at the front
  std::uint64_t persistent_id_ = 0;        // the last persistent operation
  std::uint64_t owned_id_ = 0;             // the one of owned_
  std::size_t handled_ = 0;                // leading operations that need no sending, or no more
  std::size_t released_ = 0;               // leading operations that MSG_MORE does not hold back
  std::uint64_t stalled_id_ = UINT64_MAX;  // counted as stalled already
  std::uint32_t next_offer_ = 1;
  bool any_persistent_ = false;
  bool earlier_landed_ = false;     // every message that was sent before the offer has landed
  bool plain_cancel_due_ = false;   // the next plain send is to show that the peer revoked its receive
  bool offsets_cancelled_ = false;  // since then nothing was offered
  bool some_cancelled_ = false;     // an outcome is due out of turn
};

}  // namespace exs::proto
