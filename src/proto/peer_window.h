// The driving half of persistence: a window of the peer, which our receives read (its persistent send) or our
// sends write (its persistent receive).
//
// Design notes
//  1. What we do with the window is told by NOTICE if its owner asked. A NOTICE spends a credit of our data
//     messages; while there is none, usage adds up here, so any number of transfers needs bounded memory.
//  2. Let go by REVOKE of its owner, or by ourselves when we end that direction: nothing new is started, what
//     is under way finishes, then RELEASE tells the total and what no NOTICE has told.
//  3. After an unasked RELEASE the owner makes no new window, because the end of our direction follows it; so
//     a REVOKE that crossed the RELEASE is the last one, and is ignored.
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
  // `direction` of our operations that drive it.
  explicit PeerWindow(Direction direction) : direction_(direction) {}

  // An ADVERT with PERSISTENT, or an OFFER. Needs !is_held().
  void take_in(const wire::Message& message);
  // Not taken in, but answered: a REVOKE of it may still come.
  void turned_away(std::uint32_t id) noexcept { gone_id_ = id, has_gone_ = true; }

  // May be driven.
  [[nodiscard]] bool stands() const noexcept { return state_ == State::kStanding; }
  // Taken in, RELEASE not sent.
  [[nodiscard]] bool is_held() const noexcept { return state_ != State::kNone; }
  [[nodiscard]] bool is_let_go() const noexcept { return state_ == State::kLetGo; }
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] std::uint64_t length_bytes() const noexcept { return window_.length_bytes; }

  // ERANGE: it does not lie inside.
  [[nodiscard]] Result<RemoteSlice> part(std::uint64_t offset, std::uint64_t bytes) const;
  void used(std::uint64_t bytes, std::uint64_t offset);

  // True: ours, and let go from now on. False: it went before. EPROTO: never heard of.
  Result<bool> revoked(const wire::Message& message);
  void let_go() noexcept {
    if (stands()) state_ = State::kLetGo;
  }
  void forget() noexcept { state_ = State::kNone; }

  // With a credit in hand and room.
  [[nodiscard]] bool notice_is_due() const noexcept { return stands() && notify_ && usage_.transfers > 0; }
  Status send_notice(Outbox& outbox, Credits& credits);
  // Nothing is under way: RELEASE.
  Status send_release(Outbox& outbox);

 private:
  enum class State : std::uint8_t { kNone, kStanding, kLetGo };

  wire::Message about(wire::MessageType type) const;

  const Direction direction_;
  State state_ = State::kNone;
  bool notify_ = false;
  bool has_gone_ = false;
  std::uint32_t id_ = 0;
  std::uint32_t gone_id_ = 0;
  RemoteSlice window_;
  std::uint64_t total_bytes_ = 0;
  Usage usage_;  // that no NOTICE has told
};

}  // namespace exs::proto
