// The owner's half of persistence: our memory, which the peer reads (a persistent send) or writes (a
// persistent receive) as often as it likes.
//
// Design notes
//  1. The peer learns of the window by an ADVERT with PERSISTENT, or by an OFFER. From then on nothing more
//     passes between the two engines unless the operation asked for notices.
//  2. It ends by RELEASE: requested by REVOKE, or unrequested when the peer ends its side. The peer may use the
//     window until then, so only after that it is withdrawn and the operation has its outcome.
//  3. An advert may be answered by an ACK instead, when the peer does not accept it as a window at all. A
//     REVOKE that was sent meanwhile is ignored by the peer.
//  4. There is one window a direction. The next one is made after the end of this one, so at most one REVOKE
//     of a receive is pending. Two of a send may be pending: a REVOKE that crossed the ACK of its advert, then
//     one of the next advert. Before a third one, the peer has acknowledged that next advert, and so has received
//     the first REVOKE.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class OwnedWindow {
 public:
  OwnedWindow(Link& link, Counters& counters, Direction direction)
      : link_(link), counters_(counters), direction_(direction) {}

  // The operation is ours from now on; it has no window yet.
  void hold(const Operation& operation);
  // Opens the window. The error concerns this operation (ENOTCONN: the link).
  Status expose();
  // Make it known to the peer.
  Status send_advert(Outbox& outbox, std::uint32_t sequence);
  Status send_offer(Outbox& outbox);

  [[nodiscard]] bool is_open() const noexcept { return state_ != State::kClosed; }
  // The peer knows of it.
  [[nodiscard]] bool is_advertised() const noexcept { return is_open() && state_ != State::kUnadvertised; }
  [[nodiscard]] bool is_revoked() const noexcept {
    return state_ == State::kRevokeDue || state_ == State::kRevoked;
  }
  [[nodiscard]] bool wants_notices() const noexcept { return is_advertised() && operation_.notify; }
  [[nodiscard]] std::uint32_t id() const noexcept { return id_; }
  [[nodiscard]] const Operation& operation() const noexcept { return operation_; }

  // Asks for it back; `error` is then the outcome's. Needs is_advertised().
  void revoke(int error) noexcept;
  [[nodiscard]] bool revoke_is_due() const noexcept { return state_ == State::kRevokeDue; }
  Status send_revoke(Outbox& outbox);

  // NOTICE or RELEASE. EPROTO: not of this window, or not possible. The window is closed after a RELEASE, and
  // `outcome` says how the operation ended; if the peer did so unasked, as `unasked` says.
  Status on_control(const wire::Message& message, const Outcome& unasked, Outcome& outcome);
  // Withdraws the window, which the peer must not be using. EPROTO: it is. On error it is still open.
  Status close();
  // The link is gone, and the window with it.
  void forget() noexcept { state_ = State::kClosed; }

  // Reports how the peer has used the memory since the last call.
  void deliver(OutcomeSink& sink);

 private:
  enum class State : std::uint8_t { kClosed, kUnadvertised, kActive, kRevokeDue, kRevoked };

  Status check(const wire::Message& message) const;
  void count_use(const Usage& usage);

  Link& link_;
  Counters& counters_;
  const Direction direction_;
  State state_ = State::kClosed;
  int revoke_error_ = 0;
  std::uint32_t id_ = 0;
  RemoteSlice window_;
  Operation operation_;
  Usage usage_;
};

}  // namespace exs::proto
