// The orderly end of a connection: shutdown of either direction, and the close handshake. It records the
// messages of each side, and knows which message may come and which is due.
//
// Design notes
//  1. CLOSE says: all my sends are finished (adverts acknowledged), I receive nothing more, every transfer I
//     was reading is acknowledged, and no window of either side is active. After it come only answers to
//     messages that crossed it (an ACK that refuses an ADVERT, a RELEASE for an OFFER, a RECALL_ACK), and a CLOSE_ACK.
//  2. CLOSE_ACK says: none of my adverts waits for an ACK, no RECALL for its answer, and I send nothing more. So when it arrives
//     nothing is pending in either direction, and the link can be closed without losing a byte.
//  3. A side that has received a CLOSE does not send one, it only answers. If two CLOSEs cross, both are answered.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/status.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class CloseHandshake {
 public:
  void request_shutdown_sending();
  void request_shutdown_receiving();
  void request_close();
  // The SHUTDOWN for each request has been sent, or is not needed any more.
  [[nodiscard]] bool shutdown_announced() const noexcept {
    return close_requested() ||
           (sending_ != Shutdown::kRequested && (receiving_ != Shutdown::kRequested || !peer_sends()));
  }
  // Neither side has requested or announced an end of anything.
  [[nodiscard]] bool is_quiet() const noexcept {
    return sending_ == Shutdown::kOpen && receiving_ == Shutdown::kOpen && close_ == Close::kOpen &&
           peer_close_ == PeerClose::kOpen && !peer_sending_ended_ && !peer_receiving_ended_;
  }
  [[nodiscard]] bool close_requested() const noexcept { return close_ != Close::kOpen; }

  // EPROTO: `type` must not come now, or not any more. `held`: the peer's adverts without our ACK, and
  // windows without our RELEASE.
  Status check(const wire::Header& header, std::size_t held) const;
  // Handles a SHUTDOWN, CLOSE or CLOSE_ACK that check() has passed.
  void on_message(const wire::Header& header);
  [[nodiscard]] bool peer_sends() const noexcept { return !peer_sending_ended_; }
  [[nodiscard]] bool peer_receives() const noexcept { return !peer_receiving_ended_; }
  // `notices`: the peer may use up credits even after the end of its data.
  [[nodiscard]] bool credits_matter(bool notices) const noexcept {
    return (peer_sends() || notices) && may_speak();
  }
  [[nodiscard]] bool may_probe() const noexcept { return may_speak() && peer_close_ == PeerClose::kOpen; }

  // The messages that are due. The caller sends one, then calls sent().
  [[nodiscard]] bool close_due(bool sends_idle, bool receives_settled) const noexcept;
  [[nodiscard]] bool close_answer_due(bool adverts_outstanding, bool receives_settled) const noexcept;
  // ShutdownFlags; 0: nothing.
  [[nodiscard]] std::uint8_t shutdown_due(bool all_sent) const noexcept;
  void sent(wire::MessageType type, std::uint8_t flags);

  // Nothing more arrives and nothing needs sending: the peer may drop the link.
  [[nodiscard]] bool handshake_complete() const noexcept;

 private:
  [[nodiscard]] bool may_speak() const noexcept {
    return close_ != Close::kSent && close_ != Close::kAnswered;
  }

  enum class Shutdown : std::uint8_t { kOpen, kRequested, kSent };
  enum class Close : std::uint8_t { kOpen, kRequested, kSent, kAnswered };
  enum class PeerClose : std::uint8_t { kOpen, kReceived, kAnswered };

  Shutdown sending_ = Shutdown::kOpen;
  Shutdown receiving_ = Shutdown::kOpen;
  Close close_ = Close::kOpen;
  PeerClose peer_close_ = PeerClose::kOpen;
  bool peer_sending_ended_ = false;  // its SHUTDOWN or CLOSE
  bool peer_receiving_ended_ = false;
};

}  // namespace exs::proto
