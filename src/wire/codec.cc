#include "src/wire/codec.h"

#include <algorithm>

#include "src/base/bytes.h"
#include "src/base/log.h"

namespace exs::wire {
namespace {

// Room for the fixed part of a message; 0 for an unknown type.
std::size_t fixed_bytes(MessageType type) {
  switch (type) {
    case MessageType::kAdvert: return kAdvertBytes;
    case MessageType::kAck: return kAckBytes;
    case MessageType::kReady:
    case MessageType::kImmediate:
    case MessageType::kCredit:
    case MessageType::kShutdown:
    case MessageType::kClose:
    case MessageType::kCloseAck: return kHeaderBytes;
  }
  return 0;
}

bool carries_sequence(MessageType type) {
  return type == MessageType::kAdvert || type == MessageType::kImmediate || type == MessageType::kAck;
}

template <typename Value>
tl::unexpected<Status> malformed(const char* what, Value value) {
  log(LogLevel::kWarn, "malformed message: %s %llu", what, static_cast<unsigned long long>(value));
  return failure(EPROTO);
}

bool has_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

bool flags_are_legal(const Header& header) {
  if (header.type != MessageType::kShutdown) return header.flags == 0;
  return header.flags != 0 && (header.flags & ~(kShutdownSending | kShutdownReceiving)) == 0;
}

}  // namespace

std::span<const std::byte> encode(const Message& message, FixedBytes& into) {
  const Header& header = message.header;
  std::byte* const to = into.data();
  to[kTypeOffset] = static_cast<std::byte>(header.type);
  to[kFlagsOffset] = std::byte{header.flags};
  store_be(to + kCreditsOffset, header.credits);
  store_be(to + kSequenceOffset, header.sequence);
  if (header.type == MessageType::kAdvert) {
    store_be(to + kAdvertAddressOffset, message.advert.address);
    store_be(to + kAdvertLengthOffset, message.advert.length_bytes);
    store_be(to + kAdvertKeyOffset, message.advert.key);
  } else if (header.type == MessageType::kAck) {
    store_be(to + kAckStatusOffset, static_cast<std::uint32_t>(message.ack.status));
    store_be(to + kAckBytesTakenOffset, message.ack.bytes_taken);
  }
  return {to, fixed_bytes(header.type)};
}

Result<Message> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return malformed("shorter than a header, bytes", bytes.size());
  const std::byte* const from = bytes.data();
  Message message;
  Header& header = message.header;
  header.type = static_cast<MessageType>(from[kTypeOffset]);
  header.flags = static_cast<std::uint8_t>(from[kFlagsOffset]);
  header.credits = load_be<std::uint16_t>(from + kCreditsOffset);
  header.sequence = load_be<std::uint32_t>(from + kSequenceOffset);

  const std::size_t expected_bytes = fixed_bytes(header.type);
  if (expected_bytes == 0) return malformed("unknown type", static_cast<unsigned>(header.type));
  if (header.type == MessageType::kImmediate) {
    if (bytes.size() > UINT32_MAX) return malformed("too long, bytes", bytes.size());
    message.payload_bytes = static_cast<std::uint32_t>(bytes.size() - kHeaderBytes);
  } else if (bytes.size() != expected_bytes) {
    return malformed("wrong length for its type, bytes", bytes.size());
  }
  if (!flags_are_legal(header)) return malformed("flags", header.flags);
  if (!carries_sequence(header.type) && header.sequence != 0)
    return malformed("stray sequence", header.sequence);
  if (header.type == MessageType::kCredit && header.credits == 0) return malformed("credits returned", 0U);

  if (header.type == MessageType::kAdvert) {
    Advert& advert = message.advert;
    advert.address = load_be<std::uint64_t>(from + kAdvertAddressOffset);
    advert.length_bytes = load_be<std::uint64_t>(from + kAdvertLengthOffset);
    advert.key = load_be<std::uint32_t>(from + kAdvertKeyOffset);
    if (advert.length_bytes > UINT64_MAX - advert.address)
      return malformed("window wraps, bytes", advert.length_bytes);
  } else if (header.type == MessageType::kAck) {
    const auto status = load_be<std::uint32_t>(from + kAckStatusOffset);
    message.ack.status = static_cast<AckStatus>(status);
    message.ack.bytes_taken = load_be<std::uint64_t>(from + kAckBytesTakenOffset);
    if (status > static_cast<std::uint32_t>(AckStatus::kRefused))
      return malformed("acknowledgement status", status);
    if (message.ack.status == AckStatus::kRefused && message.ack.bytes_taken != 0) {
      return malformed("refused, yet bytes taken", message.ack.bytes_taken);
    }
  }
  return message;
}

void encode_hello(const HelloFields& fields, std::span<std::byte, kHelloBytes> into) {
  std::byte* const to = into.data();
  std::fill(into.begin(), into.end(), std::byte{0});
  std::copy(kMagic.begin(), kMagic.end(), to + kHelloMagicOffset);
  to[kHelloVersionMinOffset] = std::byte{fields.version_min};
  to[kHelloVersionMaxOffset] = std::byte{fields.version_max};
  to[kHelloKindOffset] = std::byte{fields.kind};
  store_be(to + kHelloSendCreditsOffset, fields.send_credits);
  store_be(to + kHelloReceiveCreditsOffset, fields.receive_credits);
  store_be(to + kHelloSmallBytesOffset, fields.small_bytes);
  store_be(to + kHelloReadDepthOffset, fields.read_depth);
}

Result<HelloFields> decode_hello(std::span<const std::byte> bytes) {
  if (!has_magic(bytes)) return malformed("no exs hello, bytes", bytes.size());
  if (bytes.size() < kHelloBytes) return malformed("hello cut short, bytes", bytes.size());
  const std::byte* const from = bytes.data();
  HelloFields fields;
  fields.version_min = static_cast<std::uint8_t>(from[kHelloVersionMinOffset]);
  fields.version_max = static_cast<std::uint8_t>(from[kHelloVersionMaxOffset]);
  fields.kind = static_cast<std::uint8_t>(from[kHelloKindOffset]);
  fields.send_credits = load_be<std::uint16_t>(from + kHelloSendCreditsOffset);
  fields.receive_credits = load_be<std::uint16_t>(from + kHelloReceiveCreditsOffset);
  fields.small_bytes = load_be<std::uint32_t>(from + kHelloSmallBytesOffset);
  fields.read_depth = load_be<std::uint16_t>(from + kHelloReadDepthOffset);
  if (fields.version_min == 0 || fields.version_min > fields.version_max) {
    return malformed("hello with lowest version", fields.version_min);
  }
  // A peer of other versions only may lay out the rest differently; the caller turns it away by its versions.
  if (fields.version_min > kVersionMax) return fields;
  if (fields.send_credits == 0 || fields.receive_credits == 0) return malformed("hello with credits", 0U);
  if (fields.read_depth == 0) return malformed("hello with read depth", 0U);
  if (fields.version_max <= kVersionMax) {
    // InfiniBand pads private data with zeros, so a longer hello is legal.
    const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
    if (is_set(from[kHelloReserved1Offset]) ||
        std::any_of(bytes.begin() + kHelloReserved2Offset, bytes.end(), is_set)) {
      return malformed("hello with reserved bytes set, bytes", bytes.size());
    }
  }
  return fields;
}

void encode_rejection(RejectReason reason, std::span<std::byte, kRejectBytes> into) {
  std::copy(kMagic.begin(), kMagic.end(), into.data() + kRejectMagicOffset);
  store_be(into.data() + kRejectReasonOffset, static_cast<std::uint32_t>(reason));
}

Result<RejectReason> decode_rejection(std::span<const std::byte> bytes) {
  if (!has_magic(bytes) || bytes.size() < kRejectBytes) return failure(EPROTO);
  const auto reason = load_be<std::uint32_t>(bytes.data() + kRejectReasonOffset);
  if (reason < 1 || reason > static_cast<std::uint32_t>(RejectReason::kKind)) return failure(EPROTO);
  return static_cast<RejectReason>(reason);
}

}  // namespace exs::wire
