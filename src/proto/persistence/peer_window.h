// The user's half of persistence: a window of the peer, which our receives read (its persistent send) or our
// sends write (its persistent receive).
//
// Design notes
//  1. A NOTICE reports our use of the window to the owner, if the owner asked. It spends a credit of our
//     data messages. While there is no credit, usage adds up here, so any number of transfers needs bounded
//     memory.
//  2. The release begins with a REVOKE of the owner, or by ourselves when we end that direction. Nothing new
//     is started, pending transfers finish, then RELEASE reports the total and the use that no NOTICE has reported.
//  3. After an unrequested RELEASE the owner makes no new window, because the end of our direction follows
//     it; so a REVOKE that crossed the RELEASE is the last one, and is ignored.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "src/proto/credit.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class PeerWindow {
 public:
  // `direction` of our operations that use it.
  explicit PeerWindow(Direction direction) : direction_(direction) {}

  // An ADVERT with PERSISTENT, or an OFFER. Needs !is_held().
  void accept(const wire::Message& message);
  // Answered instead of accepted: a REVOKE of it may still come.
  void refused(std::uint32_t id) noexcept { gone_id_ = id, has_gone_ = true; }

  // May be used.
  [[nodiscard]] bool is_active() const noexcept { return state_ == State::kActive; }
  // Accepted, RELEASE not sent.
  [[nodiscard]] bool is_held() const noexcept { return state_ != State::kNone; }
  [[nodiscard]] bool is_releasing() const noexcept { return state_ == State::kReleasing; }
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t length_bytes() const noexcept { return window_.length_bytes; }

  // ERANGE: it does not lie inside.
  [[nodiscard]] Result<RemoteSlice> part(std::uint64_t offset, std::uint64_t bytes) const;
  // The whole window, for mapping. EAGAIN: there is none now. EACCES: its owner does not allow it.
  [[nodiscard]] Result<RemoteSlice> mappable() const;
  void count_use(std::uint64_t bytes, std::uint64_t offset);

  // True: it is being released from now on. False: it was before. EPROTO: it was never here.
  Result<bool> on_revoke(const wire::Message& message);
  void begin_release() noexcept {
    if (is_active()) state_ = State::kReleasing;
  }
  void forget() noexcept { state_ = State::kNone; }

  [[nodiscard]] bool wants_notices() const noexcept { return notify_; }
  // Call it with a credit in hand and room.
  [[nodiscard]] bool notice_is_due() const noexcept { return is_active() && notify_ && usage_.transfers > 0; }
  Status send_notice(Outbox& outbox, Credits& credits);
  // Sends RELEASE; no transfer may be in progress.
  Status send_release(Outbox& outbox);

 private:
  enum class State : std::uint8_t { kNone, kActive, kReleasing };

  wire::Message about(wire::MessageType type) const;

  const Direction direction_;
  State state_ = State::kNone;
  bool notify_ = false;
  bool mappable_ = false;
  bool has_gone_ = false;
  std::uint32_t id_ = 0;
  std::uint32_t gone_id_ = 0;
  RemoteSlice window_;
  std::uint64_t total_bytes_ = 0;
  Usage usage_;  // that no NOTICE has reported
};

}  // namespace exs::proto
