// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/close_handshake.h"

#include "src/log/log.h"

namespace exs::proto {

using wire::MessageType;

void CloseHandshake::request_shutdown_sending() {
  if (sending_ == Shutdown::kOpen) sending_ = Shutdown::kRequested;
}

void CloseHandshake::request_shutdown_receiving() {
  if (receiving_ == Shutdown::kOpen) receiving_ = Shutdown::kRequested;
}

// Notifies the peer at once that we take nothing any more. CLOSE itself may have to wait for our sends.
void CloseHandshake::request_close() {
  if (close_ == Close::kOpen) close_ = Close::kRequested;
  request_shutdown_receiving();
}

Status CloseHandshake::check(const wire::Header& header, std::size_t held) const {
  const char* wrong = nullptr;
  if (close_ == Close::kAnswered) {
    wrong = "message after CLOSE_ACK";
  } else if (wire::is_data(header.type) && peer_sending_ended_) {
    wrong = "data after the end of data";
  } else if (header.type == MessageType::kCloseAck) {
    if (close_ != Close::kSent) wrong = "CLOSE_ACK unasked";
  } else if (peer_close_ != PeerClose::kOpen) {
    const bool is_answer = header.type == MessageType::kAck || header.type == MessageType::kRelease ||
                           header.type == MessageType::kRecallAck;
    if (!is_answer) wrong = "message after CLOSE";
  } else if (header.type == MessageType::kShutdown) {
    if ((header.flags & wire::kShutdownSending) != 0 && peer_sending_ended_)
      wrong = "sending shut down twice";
    if ((header.flags & wire::kShutdownReceiving) != 0 && peer_receiving_ended_)
      wrong = "receiving shut down twice";
  } else if (header.type == MessageType::kClose && held > 0) {
    wrong = "CLOSE before its adverts and windows came back";
  }
  if (wrong == nullptr) return {};
  return fault(LogLevel::kWarn, EPROTO, "protocol error: {} (type {}, sequence {}, {} held)", wrong,
               static_cast<unsigned>(header.type), header.sequence, held);
}

void CloseHandshake::on_message(const wire::Header& header) {
  if (header.type == MessageType::kCloseAck) {
    close_ = Close::kAnswered;
    return;
  }
  if (header.type == MessageType::kClose) peer_close_ = PeerClose::kReceived;
  const bool is_close = header.type == MessageType::kClose;
  if (is_close || (header.flags & wire::kShutdownSending) != 0) peer_sending_ended_ = true;
  if (is_close || (header.flags & wire::kShutdownReceiving) != 0) peer_receiving_ended_ = true;
}

bool CloseHandshake::close_due(bool sends_idle, bool receives_settled) const noexcept {
  return close_ == Close::kRequested && peer_close_ == PeerClose::kOpen && sends_idle && receives_settled;
}

bool CloseHandshake::close_answer_due(bool adverts_outstanding, bool receives_settled) const noexcept {
  return peer_close_ == PeerClose::kReceived && !adverts_outstanding && receives_settled;
}

std::uint8_t CloseHandshake::shutdown_due(bool all_sent) const noexcept {
  if (close_ == Close::kSent || close_ == Close::kAnswered || peer_close_ != PeerClose::kOpen) return 0;
  std::uint8_t flags = 0;
  if (sending_ == Shutdown::kRequested && all_sent) flags |= wire::kShutdownSending;
  // Once the peer has ended its data, this is not worth a message.
  if (receiving_ == Shutdown::kRequested && peer_sends()) flags |= wire::kShutdownReceiving;
  return flags;
}

void CloseHandshake::sent(MessageType type, std::uint8_t flags) {
  if (type == MessageType::kClose) close_ = Close::kSent;
  if (type == MessageType::kCloseAck) peer_close_ = PeerClose::kAnswered;
  if ((flags & wire::kShutdownSending) != 0) sending_ = Shutdown::kSent;
  if ((flags & wire::kShutdownReceiving) != 0) receiving_ = Shutdown::kSent;
}

bool CloseHandshake::handshake_complete() const noexcept {
  if (close_ == Close::kSent) return false;
  if (close_ == Close::kAnswered) return peer_close_ != PeerClose::kReceived;
  return peer_close_ == PeerClose::kAnswered;
}

}  // namespace exs::proto
