// What a connection asks of the sending half. Messages and streams answer differently:
// MessageSends (message_send.h), StreamSends (stream_send.h).
#pragma once

#include <cstdint>

#include "src/base/status.h"
#include "src/proto/operation.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class SendSide {
 public:
  virtual ~SendSide() = default;

  virtual void post(const Operation& operation) = 0;
  // Sends what has a credit and room.
  virtual Status transmit() = 0;
  // Holds nothing back any more of what is posted now.
  virtual void flush() = 0;
  // Whether something waits only for more sends to share its message: end_turn() must come within a moment.
  [[nodiscard]] virtual bool combines() const noexcept = 0;
  // Whoever posted has had its turn: combining holds nothing back any more, MSG_MORE still does.
  virtual void end_turn() {}
  virtual void set_nodelay(bool /*nodelay*/) {}

  // Completion of the message that was posted with this id; of an RDMA WRITE.
  virtual void left(std::uint64_t id) = 0;
  virtual void written(std::uint64_t id) = 0;
  virtual Status acknowledged(const wire::Message& message) = 0;
  // Any other message about this direction.
  virtual Status told(const wire::Message& message) = 0;

  // Operations posted later end with `error`; the first call decides.
  virtual void refuse_later(int error) = 0;
  // So do those not yet sent.
  virtual void stop(int error) = 0;
  // Takes back what the peer drives, before a close.
  virtual void revoke() = 0;
  // The peer has told that everything we sent arrived, so all of it has left.
  virtual void all_left() = 0;
  // Every open operation ends with `error`.
  virtual void fail_all(int error) = 0;
  // Ends what the selection matches and the peer has not begun with; its outcome need not wait its turn.
  virtual Cancelled cancel(const Selection& selection, int error) = 0;
  // Gives the outcomes that are due.
  virtual void deliver(OutcomeSink& sink) = 0;

  // A window of the peer that this side has not released yet.
  [[nodiscard]] virtual bool window_held() const noexcept { return false; }
  // The peer may send NOTICEs about this side.
  [[nodiscard]] virtual bool awaits_notices() const noexcept { return false; }
  // A send posted now would go out. Only asked with a link that is up.
  [[nodiscard]] virtual bool can_send(bool has_credit) const noexcept { return has_credit && all_sent(); }
  [[nodiscard]] virtual bool all_sent() const noexcept = 0;
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  [[nodiscard]] virtual bool adverts_outstanding() const noexcept = 0;
  // Waits for a credit.
  [[nodiscard]] virtual bool stalled() const noexcept = 0;
  // When the oldest open operation that is not persistent was posted; UINT64_MAX: none that was told when.
  [[nodiscard]] virtual std::uint64_t oldest_post_ns() const noexcept = 0;
};

}  // namespace exs::proto
