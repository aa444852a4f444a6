// One connection whose peer is the test: it hears whatever bytes the test makes up.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/wire/codec.h"
#include "tests/proto/connection_pair.h"

namespace exs::proto {

inline Bytes bytes_of(const wire::Message& message, std::size_t payload_bytes = 0) {
  wire::FixedBytes room;
  const auto fixed = wire::encode(message, room);
  Bytes bytes(fixed.begin(), fixed.end());
  bytes.resize(bytes.size() + payload_bytes, std::byte{0x5a});
  return bytes;
}

inline wire::Message plain(wire::MessageType type, std::uint16_t credits = 0, std::uint8_t flags = 0) {
  wire::Message message;
  message.header = {type, flags, credits, 0};
  return message;
}

inline wire::Message advert(std::uint32_t sequence, const RemoteSlice& window) {
  wire::Message message = plain(wire::MessageType::kAdvert);
  message.header.sequence = sequence;
  message.advert = {window.address, window.length_bytes, window.key};
  return message;
}

inline wire::Message immediate(std::uint32_t sequence) {
  wire::Message message = plain(wire::MessageType::kImmediate);
  message.header.sequence = sequence;
  return message;
}

inline wire::Message ack(std::uint32_t sequence, std::uint64_t bytes_taken,
                         wire::AckStatus status = wire::AckStatus::kTaken) {
  wire::Message message = plain(wire::MessageType::kAck, 1);
  message.header.sequence = sequence;
  message.ack = {status, bytes_taken};
  return message;
}

inline wire::Message offer(std::uint32_t number, const RemoteSlice& window, bool notify = false) {
  wire::Message message = plain(wire::MessageType::kOffer, 0, notify ? wire::kNotify : 0);
  message.header.sequence = number;
  message.advert = {window.address, window.length_bytes, window.key};
  return message;
}

inline wire::Message persistent_advert(std::uint32_t sequence, const RemoteSlice& window) {
  wire::Message message = advert(sequence, window);
  message.header.flags = wire::kPersistent;
  return message;
}

// REVOKE, RELEASE or NOTICE.
inline wire::Message about_window(wire::MessageType type, wire::WindowFlag of, std::uint32_t id,
                                  const wire::Usage& usage = {}) {
  wire::Message message = plain(type, 0, of);
  message.header.sequence = id;
  message.usage = usage;
  if (type == wire::MessageType::kRelease) message.total_bytes = usage.bytes;
  return message;
}

struct Forged {
  explicit Forged(Role role, const Agreement& agreement = agreement_of(2, 33, 2))
      : end(violations, role, agreement, {64, 1}), peer(violations, link_depths(mirrored(agreement))) {
    FakeLink::join(end.link, peer);
    started = end.connection.start().ok();
  }
  // An established responder, READY and all.
  static std::unique_ptr<Forged> ready(const Agreement& agreement = agreement_of(2, 33, 2)) {
    auto forged = std::make_unique<Forged>(Role::kResponder, agreement);
    forged->hear(plain(wire::MessageType::kReady));
    return forged;
  }

  void hear(const Bytes& bytes) {
    end.link.inject(bytes);
    end.link.deliver_message();
    drain();
  }
  void hear(const wire::Message& message, std::size_t payload_bytes = 0) {
    hear(bytes_of(message, payload_bytes));
  }
  void drain() {
    while (end.handle_one()) {
    }
  }
  // Everything posted leaves, every read is served.
  void run() {
    for (bool moved = true; moved;) {
      moved = end.link.finish_send() || end.link.begin_read() || end.link.finish_read();
      drain();
    }
  }
  // What the connection said, from message `first` on.
  [[nodiscard]] std::vector<wire::Message> said(std::size_t first = 0) const {
    std::vector<wire::Message> messages;
    for (std::size_t i = first; i < end.link.sent().size(); ++i)
      messages.push_back(*wire::decode(end.link.sent()[i]));
    return messages;
  }
  [[nodiscard]] bool lost_to_protocol_error() const {
    return end.failures == std::vector<int>{EPROTO} && !end.link.is_open() && violations.empty();
  }
  [[nodiscard]] bool well() const {
    return started && end.failures.empty() && end.link.is_open() && violations.empty();
  }

  std::vector<std::string> violations;
  End end;
  FakeLink peer;
  bool started = false;
};

}  // namespace exs::proto
