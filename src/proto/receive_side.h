// What a connection asks of the receiving half. Messages and streams answer differently:
// MessageReceives (message_receive.h), StreamReceives (stream_receive.h).
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/proto/operation.h"
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
  virtual Status arrived(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes) = 0;
  // The last message that arrived went straight to a receive: only its outcome is due.
  [[nodiscard]] virtual bool took_directly() const noexcept { return false; }
  // Any other message about this direction.
  virtual Status told(const wire::Message& message) = 0;
  // The oldest RDMA READ is done.
  virtual void read_landed() = 0;

  // The peer sends no more data: what is here is still delivered, then receives see end of stream.
  virtual void peer_ended() = 0;
  // No more receiving: open and later receives end with `outcome`, adverts that wait or come are refused,
  // immediates dropped. Transfers under way go on.
  virtual void stop(const Outcome& outcome) = 0;
  // Takes back what the peer drives, before a close.
  virtual void revoke() = 0;
  virtual void fail_all(int error) = 0;
  // Ends what the selection matches and the peer has not begun with; its outcome need not wait its turn.
  virtual Cancelled cancel(const Selection& selection, int error) = 0;

  // Matches what is here and starts what follows.
  virtual Status match() = 0;
  virtual Status post_reads() = 0;
  // Gives the outcomes that are due and makes their ACKs.
  virtual void deliver(OutcomeSink& sink) = 0;
  virtual Status send_answers(Outbox& outbox) = 0;
  // Tells the peer how its memory was used, as far as credits go.
  virtual Status send_notices(Outbox& /*outbox*/) { return {}; }
  // Credits must not be kept back.
  [[nodiscard]] virtual bool returns_credits_at_once() const noexcept { return false; }

  // Nothing under way and nothing left to tell the peer. Data may wait for receives.
  [[nodiscard]] virtual bool settled() const noexcept = 0;
  // Adverts of the peer that have had no ACK or RELEASE yet.
  [[nodiscard]] virtual std::size_t adverts_held() const noexcept = 0;
  // Credits of the peer that messages here still use.
  [[nodiscard]] virtual std::size_t credits_held() const noexcept = 0;
  // A receive posted now would end without anything more from the peer.
  [[nodiscard]] virtual bool has_data() const noexcept = 0;
  [[nodiscard]] virtual std::uint64_t oldest_post_ns() const noexcept = 0;  // as SendSide
};

}  // namespace exs::proto
