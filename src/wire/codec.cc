// SPDX-License-Identifier: BSD-2-Clause
#include "src/wire/codec.h"

#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "src/log/log.h"

namespace exs::wire {
namespace {

Header load_header(const std::byte* from) {
  Header header;
  header.type = static_cast<MessageType>(from[kTypeOffset]);
  header.flags = static_cast<std::uint8_t>(from[kFlagsOffset]);
  header.credits = load_be<std::uint16_t>(from + kCreditsOffset);
  header.sequence = load_be<std::uint32_t>(from + kSequenceOffset);
  return header;
}

bool carries_sequence(MessageType type) {
  switch (type) {
    case MessageType::kAdvert:
    case MessageType::kImmediate:
    case MessageType::kAck:
    case MessageType::kOffer:
    case MessageType::kNotice:
    case MessageType::kRevoke:
    case MessageType::kRelease:
    case MessageType::kRecall:
    case MessageType::kRecallAck:
    case MessageType::kTagged:
    case MessageType::kTaggedAdvert:
    case MessageType::kHeld:
    case MessageType::kFetch:
    case MessageType::kFetched: return true;
    default: return false;
  }
}

template <typename Value>
tl::unexpected<Status> malformed(const char* what, Value value) {
  return failure(fault(LogLevel::kWarn, EPROTO, "malformed message: {} {}", what, value));
}

bool has_magic(std::span<const std::byte> bytes) {
  return bytes.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), bytes.begin());
}

bool advert_flags_are_legal(std::uint8_t flags) {
  if ((flags & ~(kPersistent | kNotify | kAtOffset | kList)) != 0) return false;
  if ((flags & kPersistent) != 0) return (flags & (kAtOffset | kList)) == 0;
  return (flags & kNotify) == 0;
}

bool flags_are_legal(const Header& header) {
  switch (header.type) {
    case MessageType::kShutdown:
      return header.flags != 0 && (header.flags & ~(kShutdownSending | kShutdownReceiving)) == 0;
    case MessageType::kAdvert: return advert_flags_are_legal(header.flags);
    case MessageType::kOffer: return (header.flags & ~(kNotify | kMappable)) == 0;
    case MessageType::kNotice:
    case MessageType::kRevoke:
    case MessageType::kRelease: return header.flags == kOfSend || header.flags == kOfReceive;
    case MessageType::kRecallAck: return (header.flags & ~kRecalled) == 0;
    case MessageType::kTagged:
    case MessageType::kTaggedAdvert:
    case MessageType::kHeld: return (header.flags & ~(kSynchronous | kWithData)) == 0;
    case MessageType::kFetched: return (header.flags & ~kPart) == 0;
    default: return header.flags == 0;
  }
}

void store_window(std::byte* to, const Advert& window) {
  store_be(to + kListAddressOffset, window.address);
  store_be(to + kListLengthOffset, window.length_bytes);
  store_be(to + kListKeyOffset, window.key);
}

Advert load_window(const std::byte* from) {
  Advert window;
  window.address = load_be<std::uint64_t>(from + kListAddressOffset);
  window.length_bytes = load_be<std::uint64_t>(from + kListLengthOffset);
  window.key = load_be<std::uint32_t>(from + kListKeyOffset);
  return window;
}
static_assert(kAdvertLengthOffset - kAdvertAddressOffset == kListLengthOffset &&
              kAdvertKeyOffset - kAdvertAddressOffset == kListKeyOffset);

bool wraps(const Advert& window) {
  return window.length_bytes > UINT64_MAX - window.address;
}

Status check_list(const Advert& first, std::span<const std::byte> list) {
  if (first.length_bytes == 0) return malformed("list behind a window of bytes", 0U).value();
  if (wraps(first)) return malformed("window wraps, bytes", first.length_bytes).value();
  std::uint64_t sum = first.length_bytes;
  for (std::size_t entry = 0; entry < list.size() / kListEntryBytes; ++entry) {
    const Advert window = list_entry(list, entry);
    if (window.length_bytes == 0) return malformed("empty window in list, entry", entry).value();
    if (wraps(window)) return malformed("window wraps, bytes", window.length_bytes).value();
    if (window.length_bytes > UINT64_MAX - sum)
      return malformed("list too long, bytes", window.length_bytes).value();
    sum += window.length_bytes;
  }
  return {};
}

// Demands at least one.
Status check_windows(std::span<const std::byte> windows) {
  return check_list(list_entry(windows, 0), windows.subspan(kListEntryBytes));
}

Status decode_window(std::span<const std::byte> bytes, Message& message) {
  message.advert = load_window(bytes.data() + kAdvertAddressOffset);
  if (wraps(message.advert)) return malformed("window wraps, bytes", message.advert.length_bytes).value();
  if (message.header.type == MessageType::kOffer) return {};
  if ((message.header.flags & kAtOffset) != 0) {
    message.target_offset = load_be<std::uint64_t>(bytes.data() + kAdvertTargetOffset);
  }
  if ((message.header.flags & kList) == 0) return {};
  return check_list(message.advert, bytes.last(message.payload_bytes));
}

std::size_t data_offset(const Header& header) {
  return header.type == MessageType::kHeld ? kHeldDataOffset : kLabelDataOffset;
}

void store_label(std::byte* to, const Message& message) {
  store_be(to + kLabelBitsOffset, message.label.bits);
  store_be(to + kLabelReturnedOffset, message.label.returned_bytes);
  store_be(to + kLabelIdOffset, message.label.id);
  if (message.header.type == MessageType::kHeld) store_be(to + kHeldLengthOffset, message.held_bytes);
  if ((message.header.flags & kWithData) != 0) store_be(to + data_offset(message.header), message.label.data);
}

void load_label(const std::byte* from, Message& message) {
  message.label.bits = load_be<std::uint64_t>(from + kLabelBitsOffset);
  message.label.returned_bytes = load_be<std::uint32_t>(from + kLabelReturnedOffset);
  message.label.id = load_be<std::uint32_t>(from + kLabelIdOffset);
  if (message.header.type == MessageType::kHeld)
    message.held_bytes = load_be<std::uint64_t>(from + kHeldLengthOffset);
  if ((message.header.flags & kWithData) != 0)
    message.label.data = load_be<std::uint64_t>(from + data_offset(message.header));
}

// A message that awaits an ACK has an ID; others have none.
bool id_is_legal(const Message& message) {
  const bool is_awaited =
      message.header.type != MessageType::kTagged || (message.header.flags & kSynchronous) != 0;
  return (message.label.id != 0) == is_awaited;
}

Status decode_label(std::span<const std::byte> bytes, Message& message) {
  load_label(bytes.data(), message);
  if (!id_is_legal(message)) return malformed("label with id", message.label.id).value();
  if (message.header.type != MessageType::kTaggedAdvert) return {};
  return check_windows(bytes.last(message.payload_bytes));
}

Status decode_ack(const std::byte* from, Ack& ack) {
  const auto status = load_be<std::uint32_t>(from + kAckStatusOffset);
  if (status > static_cast<std::uint32_t>(AckStatus::kNotPersistent))
    return malformed("acknowledgement status", status).value();
  ack.status = static_cast<AckStatus>(status);
  ack.bytes_taken = load_be<std::uint64_t>(from + kAckBytesTakenOffset);
  if (ack.status != AckStatus::kTaken && ack.bytes_taken != 0)
    return malformed("not taken, yet bytes taken", ack.bytes_taken).value();
  return {};
}

Status decode_usage(const std::byte* from, Message& message) {
  Usage& usage = message.usage;
  usage.bytes = load_be<std::uint64_t>(from + kUsageBytesOffset);
  usage.last_offset = load_be<std::uint64_t>(from + kUsageLastOffset);
  usage.transfers = load_be<std::uint32_t>(from + kUsageTransfersOffset);
  if (message.header.type == MessageType::kRelease) {
    message.total_bytes = load_be<std::uint64_t>(from + kReleaseTotalOffset);
    if (usage.transfers == 0 && (usage.bytes | usage.last_offset) != 0)
      return malformed("usage without transfers, bytes", usage.bytes).value();
    if (usage.bytes > message.total_bytes)
      return malformed("released with less than was used, bytes", usage.bytes).value();
  } else if (usage.transfers == 0) {
    return malformed("notice of transfers", 0U).value();
  }
  return {};
}

bool is_part(const Header& header) {
  return header.type == MessageType::kFetched && (header.flags & kPart) != 0;
}
bool has_payload(const Header& header) {
  return header.type == MessageType::kImmediate || header.type == MessageType::kTagged || is_part(header);
}
bool has_tail(const Header& header) {
  return has_payload(header) || header.type == MessageType::kTaggedAdvert ||
         header.type == MessageType::kFetched ||
         (header.type == MessageType::kAdvert && (header.flags & kList) != 0);
}

// Length and place of what follows the fixed part.
Status decode_tail(std::size_t message_bytes, Message& message) {
  const std::size_t fixed = fixed_bytes(message.header);
  if (fixed == 0) return malformed("unknown type", static_cast<unsigned>(message.header.type)).value();
  if (!has_tail(message.header)) {
    if (message_bytes == fixed) return {};
    return malformed("wrong length for its type, bytes", message_bytes).value();
  }
  if (message_bytes < fixed || message_bytes > UINT32_MAX)
    return malformed("wrong length for its type, bytes", message_bytes).value();
  message.payload_bytes = static_cast<std::uint32_t>(message_bytes - fixed);
  if (has_payload(message.header)) return {};
  const bool may_be_empty = message.header.type == MessageType::kFetched;
  if ((message.payload_bytes == 0 && !may_be_empty) || message.payload_bytes % kListEntryBytes != 0)
    return malformed("list of windows, bytes", message.payload_bytes).value();
  return {};
}

}  // namespace

// 0 for an unknown type.
std::size_t fixed_bytes(const Header& header) {
  switch (header.type) {
    case MessageType::kAdvert: return (header.flags & kAtOffset) != 0 ? kAtOffsetAdvertBytes : kAdvertBytes;
    case MessageType::kAck: return kAckBytes;
    case MessageType::kOffer: return kOfferBytes;
    case MessageType::kNotice: return kNoticeBytes;
    case MessageType::kRelease: return kReleaseBytes;
    case MessageType::kTagged:
    case MessageType::kTaggedAdvert:
      return (header.flags & kWithData) != 0 ? kTaggedWithDataBytes : kTaggedBytes;
    case MessageType::kReturn: return kReturnBytes;
    case MessageType::kHeld: return (header.flags & kWithData) != 0 ? kHeldWithDataBytes : kHeldBytes;
    case MessageType::kWant: return kWantBytes;
    case MessageType::kGrant: return kGrantBytes;
    case MessageType::kFetch:
    case MessageType::kFetched:
    case MessageType::kReady:
    case MessageType::kImmediate:
    case MessageType::kCredit:
    case MessageType::kShutdown:
    case MessageType::kClose:
    case MessageType::kCloseAck:
    case MessageType::kRevoke:
    case MessageType::kProbe:
    case MessageType::kProbeAck:
    case MessageType::kRecall:
    case MessageType::kRecallAck:
    case MessageType::kMore: return kHeaderBytes;
  }
  return 0;
}

std::span<const std::byte> encode(const Message& message, FixedBytes& into) {
  const Header& header = message.header;
  std::byte* const to = into.data();
  to[kTypeOffset] = static_cast<std::byte>(header.type);
  to[kFlagsOffset] = std::byte{header.flags};
  store_be(to + kCreditsOffset, header.credits);
  store_be(to + kSequenceOffset, header.sequence);
  const std::size_t bytes = fixed_bytes(header);
  switch (header.type) {
    case MessageType::kAdvert:
    case MessageType::kOffer:
      store_window(to + kAdvertAddressOffset, message.advert);
      if (bytes == kAtOffsetAdvertBytes) store_be(to + kAdvertTargetOffset, message.target_offset);
      break;
    case MessageType::kAck:
      store_be(to + kAckStatusOffset, static_cast<std::uint32_t>(message.ack.status));
      store_be(to + kAckBytesTakenOffset, message.ack.bytes_taken);
      break;
    case MessageType::kNotice:
    case MessageType::kRelease:
      store_be(to + kUsageBytesOffset, message.usage.bytes);
      store_be(to + kUsageLastOffset, message.usage.last_offset);
      store_be(to + kUsageTransfersOffset, message.usage.transfers);
      if (bytes == kReleaseBytes) store_be(to + kReleaseTotalOffset, message.total_bytes);
      break;
    case MessageType::kTagged:
    case MessageType::kTaggedAdvert:
    case MessageType::kHeld: store_label(to, message); break;
    case MessageType::kWant:
      store_be(to + kWantBitsOffset, message.label.bits);
      store_be(to + kWantIgnoreOffset, message.ignore);
      break;
    case MessageType::kReturn: store_be(to + kReturnedOffset, message.label.returned_bytes); break;
    case MessageType::kGrant: store_be(to + kGrantedOffset, message.granted); break;
    default: break;
  }
  return {to, bytes};
}

void encode_list_entry(const Advert& window, std::span<std::byte> list, std::size_t entry) {
  store_window(list.subspan(entry * kListEntryBytes, kListEntryBytes).data(), window);
}

Advert list_entry(std::span<const std::byte> list, std::size_t entry) {
  return load_window(list.subspan(entry * kListEntryBytes, kListEntryBytes).data());
}

Result<Message> decode(std::span<const std::byte> bytes) {
  if (bytes.size() < kHeaderBytes) return malformed("shorter than a header, bytes", bytes.size());
  const std::byte* const from = bytes.data();
  Message message;
  const Header& header = message.header = load_header(from);

  if (const Status status = decode_tail(bytes.size(), message); !status.ok()) return failure(status);
  if (!flags_are_legal(header)) return malformed("flags", header.flags);
  if (!carries_sequence(header.type) && header.sequence != 0)
    return malformed("stray sequence", header.sequence);
  if (header.type == MessageType::kCredit && header.credits == 0) return malformed("credits returned", 0U);

  Status status;
  switch (header.type) {
    case MessageType::kAdvert:
    case MessageType::kOffer: status = decode_window(bytes, message); break;
    case MessageType::kAck: status = decode_ack(from, message.ack); break;
    case MessageType::kNotice:
    case MessageType::kRelease: status = decode_usage(from, message); break;
    case MessageType::kTagged:
    case MessageType::kTaggedAdvert:
    case MessageType::kHeld: status = decode_label(bytes, message); break;
    case MessageType::kWant:
      message.label.bits = load_be<std::uint64_t>(from + kWantBitsOffset);
      message.ignore = load_be<std::uint64_t>(from + kWantIgnoreOffset);
      break;
    case MessageType::kFetched:
      if (is_part(header)) {
        if (message.payload_bytes == 0) status = malformed("part, bytes", 0U).value();
      } else if (message.payload_bytes != 0) {
        status = check_windows(bytes.last(message.payload_bytes));
      }
      break;
    case MessageType::kReturn:
      message.label.returned_bytes = load_be<std::uint32_t>(from + kReturnedOffset);
      if (message.label.returned_bytes == 0) status = malformed("bytes returned", 0U).value();
      break;
    case MessageType::kGrant: message.granted = load_be<std::uint32_t>(from + kGrantedOffset); break;
    default: break;
  }
  if (!status.ok()) return failure(status);
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

void encode_introduction(const Introduction& introduction, std::span<std::byte, kTaggedHelloBytes> into) {
  std::byte* const to = into.data();
  std::fill(into.begin() + kHelloBytes, into.end(), std::byte{0});
  if (introduction.id != 0) {
    store_be(to + kHelloFromOffset, introduction.id);
    to[kHelloByIdOffset] = std::byte{1};
  } else {
    store_be(to + kHelloFromOffset, introduction.from);
    store_be(to + kHelloToOffset, introduction.to);
  }
  std::copy(introduction.job_key.begin(), introduction.job_key.end(), to + kHelloJobKeyOffset);
  to[kHelloEagerOffset] = std::byte{introduction.eager_bytes_log2};
  to[kHelloAdvertsOffset] = std::byte{introduction.adverts_log2};
  to[kHelloReserved1Offset] = static_cast<std::byte>(introduction.job_size >> 16U);
  store_be(to + kHelloReserved2Offset, static_cast<std::uint16_t>(introduction.job_size));
}

namespace {

// Windows of eager bytes and adverts: none that could not take a single message, none past what 32 bits count.
constexpr std::uint8_t kEagerLog2Min = 10, kAdvertsLog2Max = 20, kEagerLog2Max = 30;

Status decode_introduction(std::span<const std::byte> bytes, Introduction& into) {
  if (bytes.size() < kTaggedHelloBytes) return malformed("hello cut short, bytes", bytes.size()).value();
  const std::byte* const from = bytes.data();
  const auto by_id = static_cast<std::uint8_t>(from[kHelloByIdOffset]);
  if (by_id > 1) return malformed("hello by id", unsigned{by_id}).value();
  if (by_id == 1) {
    into.id = load_be<std::uint64_t>(from + kHelloFromOffset);
    if (into.id == 0) return malformed("hello of id", 0U).value();
  } else {
    into.from = load_be<std::uint32_t>(from + kHelloFromOffset);
    into.to = load_be<std::uint32_t>(from + kHelloToOffset);
  }
  std::copy_n(from + kHelloJobKeyOffset, into.job_key.size(), into.job_key.begin());
  into.eager_bytes_log2 = static_cast<std::uint8_t>(from[kHelloEagerOffset]);
  into.adverts_log2 = static_cast<std::uint8_t>(from[kHelloAdvertsOffset]);
  if (into.eager_bytes_log2 < kEagerLog2Min || into.eager_bytes_log2 > kEagerLog2Max)
    return malformed("hello with eager bytes 2^", unsigned{into.eager_bytes_log2}).value();
  if (into.adverts_log2 > kAdvertsLog2Max)
    return malformed("hello with adverts 2^", unsigned{into.adverts_log2}).value();
  if (static_cast<std::uint8_t>(from[kHelloVersionMaxOffset]) < kTaggedVersionMax) return {};
  into.job_size = std::uint32_t{static_cast<std::uint8_t>(from[kHelloReserved1Offset])} << 16U |
                  load_be<std::uint16_t>(from + kHelloReserved2Offset);
  return {};
}

}  // namespace

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
  const std::uint8_t ours_max = version_max_of(fields.kind);
  if (fields.version_min > ours_max) return fields;
  if (fields.send_credits == 0 || fields.receive_credits == 0) return malformed("hello with credits", 0U);
  if (fields.read_depth == 0) return malformed("hello with read depth", 0U);
  auto fields_end = bytes.begin() + kHelloReserved2Offset;
  if (fields.kind == kTaggedKind) {
    if (const Status status = decode_introduction(bytes, fields.introduction); !status.ok())
      return failure(status);
    fields_end = bytes.begin() + kHelloReserved3Offset;
  }
  if (fields.version_max <= ours_max) {
    // InfiniBand pads private data with zeros, so a longer hello is legal.
    const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
    const bool has_job_size = fields.kind == kTaggedKind && fields.version_max >= kTaggedVersionMax;
    const bool is_reserved_set =
        !has_job_size && (is_set(from[kHelloReserved1Offset]) || is_set(from[kHelloReserved2Offset]) ||
                          is_set(from[kHelloReserved2Offset + 1]));
    if (is_reserved_set || std::any_of(fields_end, bytes.end(), is_set)) {
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
  if (reason < 1 || reason > static_cast<std::uint32_t>(RejectReason::kJobSize)) return failure(EPROTO);
  return static_cast<RejectReason>(reason);
}

void encode_job_sizes(const JobSizes& sizes, std::span<std::byte, kRejectSizesBytes> into) {
  store_be(into.data() + kRejectOwnSizeOffset, sizes.own);
  store_be(into.data() + kRejectToldSizeOffset, sizes.told);
}

JobSizes decode_job_sizes(std::span<const std::byte> bytes) {
  if (bytes.size() < kRejectSizesBytes) return {};
  return {.own = load_be<std::uint32_t>(bytes.data() + kRejectOwnSizeOffset),
          .told = load_be<std::uint32_t>(bytes.data() + kRejectToldSizeOffset)};
}

}  // namespace exs::wire
