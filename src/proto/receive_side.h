// The receiving half of a connection. Messages and streams differ: MessageReceives
// (message/message_receive.h), StreamReceives (stream/stream_receive.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/status.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/rdma_chunks.h"
#include "src/proto/recall.h"
#include "src/wire/messages.h"

namespace exs::proto {

class Outbox;

// Thread: shard.
class ReceiveSide {
 public:
  virtual ~ReceiveSide() = default;

  // False: it waits for the peer, and nothing follows from it now.
  virtual bool post(const Operation& operation) = 0;
  // A data message of the peer in its slot. EPROTO: no credit, wrong sequence, longer than agreed.
  virtual Status on_data(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes) = 0;
  // Reads the peer's window for a receive that is next, with its outcome. False: it must be posted, and nothing has changed.
  virtual bool read_now(const Operation& /*operation*/, Outcome& /*outcome*/) { return false; }
  // A window is open, so the attempt is worthwhile.
  [[nodiscard]] virtual bool may_read_now() const noexcept { return false; }
  // The last data message went straight to a receive: only its outcome is due.
  [[nodiscard]] virtual bool took_directly() const noexcept { return false; }
  // Any other message about this direction.
  virtual Status on_control(const wire::Message& /*message*/) { return Status(EPROTO); }
  // RECALL. EPROTO: of an advert that never came, or before the answer to the last.
  virtual Status on_recall(const wire::Message& message) = 0;
  // The oldest RDMA READ is done.
  virtual void on_read_done() = 0;

  // The peer sends no more data. Data that is here is still delivered; then receives see end of stream.
  void on_peer_end() {
    if (state_ == State::kOpen) state_ = State::kPeerEnded;
  }
  // Ends receiving: takes back the peer's writes, ends open and later receives with `outcome`, refuses
  // waiting and later adverts, drops immediates. Transfers in progress go on.
  virtual void stop(const Outcome& outcome) = 0;
  virtual void fail_all(int error) = 0;
  // Ends what the selection matches and the peer has not begun with; its outcome need not wait its turn.
  virtual Cancelled cancel(const Selection& selection, int error) = 0;

  // Matches the messages that are here, and starts their transfers.
  virtual Status match() = 0;
  Status post_reads() { return reads_.post(); }
  // Gives the outcomes that are due and makes their ACKs.
  virtual void deliver(OutcomeSink& sink) = 0;
  virtual Status send_answers(Outbox& outbox) = 0;
  // Reports to the peer how its memory was used, as far as credits go.
  virtual Status send_notices(Outbox& /*outbox*/) { return {}; }
  // Credits must not be kept back.
  [[nodiscard]] virtual bool returns_credits_at_once() const noexcept { return false; }

  // Nothing is in progress, and nothing must be sent to the peer. Data may wait for receives.
  [[nodiscard]] virtual bool settled() const noexcept = 0;
  // Adverts of the peer without an ACK or RELEASE yet.
  [[nodiscard]] virtual std::size_t adverts_held() const noexcept = 0;
  // Credits of the peer that messages here still use.
  [[nodiscard]] virtual std::size_t credits_held() const noexcept = 0;
  // A receive posted now would end without anything more from the peer.
  [[nodiscard]] virtual bool has_data() const noexcept = 0;
  // The bytes that such a receive would take with enough room: the next message, or all bytes of a stream
  // that are here.
  [[nodiscard]] virtual std::uint64_t next_bytes() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t oldest_post_ns() const noexcept = 0;  // as SendSide

 protected:
  enum class State : std::uint8_t { kOpen, kPeerEnded, kStopped };

  ReceiveSide(Link& link, Counters& counters, const Agreement& agreement, std::uint64_t chunk_bytes)
      : reads_(link, counters, agreement.reads_out, chunk_bytes) {}

  RdmaReads reads_;
  RecallAnswer recall_answer_;
  State state_ = State::kOpen;
  Outcome stop_outcome_;  // kStopped: of every later receive
};

}  // namespace exs::proto
