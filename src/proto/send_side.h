// The sending half of a connection. Messages and streams differ: MessageSends (message/message_send.h),
// StreamSends (stream/stream_send.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/status.h"
#include "src/proto/operation.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class SendSide {
 public:
  virtual ~SendSide() = default;

  virtual void post(const Operation& operation) = 0;
  // Sends an operation before which nothing waits; its outcome, which the caller gives. Nothing: it must be posted, and
  // nothing has changed.
  virtual bool send_now(const Operation& /*operation*/) { return false; }
  // Sends what has a credit and room.
  virtual Status transmit() = 0;
  // Holds back no posted operation any longer.
  virtual void flush() = 0;
  // Something waits only for more sends to share its message: end_burst() must come within a moment.
  [[nodiscard]] virtual bool is_combining() const noexcept { return false; }
  // The burst of posts is over: combining holds nothing back any more, MSG_MORE still does.
  virtual void end_burst() {}
  virtual void set_nodelay(bool /*nodelay*/) {}

  // Completion of the message that was posted with this id; of an RDMA WRITE.
  virtual void on_sent(std::uint64_t id) = 0;
  virtual void on_write_done(std::uint64_t /*id*/) {}
  // An ACK or another message about this direction.
  virtual Status on_control(const wire::Message& message) = 0;

  // The end of this direction, after what was posted: holds nothing back and takes back what the peer reads.
  // Operations posted later end with EPIPE.
  void shut_down() {
    flush();
    revoke();
    refuse_later(EPIPE);
  }
  // Operations not yet sent, and those posted later, end with `error`.
  virtual void stop(int error) = 0;
  // The peer has confirmed that everything we sent arrived, so all of it has left.
  virtual void on_all_received() = 0;
  // Every open operation ends with `error`.
  virtual void fail_all(int error) = 0;
  // Ends what the selection matches and the peer has not begun with; its outcome need not wait its turn.
  virtual Cancelled cancel(const Selection& selection, int error) = 0;
  // Gives the outcomes that are due.
  virtual void deliver(OutcomeSink& sink) = 0;

  // A window of the peer that this side has not released yet.
  [[nodiscard]] virtual bool window_held() const noexcept { return false; }
  // The window that the peer offers for mapping: PeerWindow::mappable().
  [[nodiscard]] virtual Result<RemoteSlice> mappable_window() const { return failure(EOPNOTSUPP); }
  // The peer may send NOTICEs, or answers that spend credits, about this side.
  [[nodiscard]] virtual bool awaits_notices() const noexcept { return false; }
  // A send posted now would go out. Only asked with a link that is up.
  [[nodiscard]] virtual bool can_send(bool has_credit) const noexcept { return has_credit && all_sent(); }
  [[nodiscard]] virtual bool all_sent() const noexcept = 0;
  [[nodiscard]] virtual bool idle() const noexcept = 0;
  [[nodiscard]] virtual bool adverts_outstanding() const noexcept = 0;
  // Waits for a credit.
  [[nodiscard]] virtual bool stalled() const noexcept = 0;
  // The post time of the oldest open operation that is not persistent. UINT64_MAX: there is none, or none
  // with a known time.
  [[nodiscard]] virtual std::uint64_t oldest_post_ns() const noexcept = 0;

 protected:
  // Takes back what the peer drives.
  virtual void revoke() {}
  // The first call decides.
  void refuse_later(int error) {
    if (stop_error_ == 0) stop_error_ = error;
  }

  int stop_error_ = 0;
};

}  // namespace exs::proto
