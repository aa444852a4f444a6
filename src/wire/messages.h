// The control messages between two exs ends, as plain structs, and the place of each field on the wire.
// FORMAT.md has the same layout in tables; tests/wire/format_test.cc compares the two.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace exs::wire {

enum class MessageType : std::uint8_t {
  kReady = 1,      // first message of the initiator: the responder may send from now on
  kAdvert = 2,     // data message: a window of the sender's memory, to be read by the receiver
  kImmediate = 3,  // data message: the payload follows the header
  kAck = 4,        // answers one advert: the window is no longer needed
  kCredit = 5,     // returns credits when nothing else goes that way
  kShutdown = 6,   // end of one or both directions, see ShutdownFlag
  kClose = 7,
  kCloseAck = 8,
  kOffer = 9,     // a window of a persistent receive, to be written by the peer
  kNotice = 10,   // data message without a number: the peer's window was used
  kRevoke = 11,   // the window's owner wants it back
  kRelease = 12,  // the window is used no more
  kProbe = 13,    // asks for a sign of life
  kProbeAck = 14,
  kRecall = 15,     // the sender of an advert wants it back
  kRecallAck = 16,  // whether it comes back
  // The following travel on connections for messages with tags alone.
  kTagged = 17,        // data message: a label, and the payload
  kTaggedAdvert = 18,  // data message: a label, and windows of the sender's memory
  kReturn = 19,        // returns eager bytes when nothing else goes that way
  kHeld = 20,          // data message: a label alone; the payload is to be fetched
  kWant = 21,          // asks for the messages that the peer holds back, up to one that fits
  kFetch = 22,         // a receive has taken a kHeld
  kFetched = 23,       // data message: the windows of a fetched message, or a part of it
  // The following travel on the other connections alone.
  kMore = 24,   // asks for more credits than agreed
  kGrant = 25,  // answers a kMore
};

// A data message spends a credit and has a number.
[[nodiscard]] constexpr bool is_data(MessageType type) noexcept {
  switch (type) {
    case MessageType::kAdvert:
    case MessageType::kImmediate:
    case MessageType::kTagged:
    case MessageType::kTaggedAdvert:
    case MessageType::kHeld:
    case MessageType::kFetched: return true;
    default: return false;
  }
}

enum ShutdownFlag : std::uint8_t { kShutdownSending = 1, kShutdownReceiving = 2 };

// An OFFER has kNotify too, and it alone has kMappable.
enum AdvertFlag : std::uint8_t { kPersistent = 1, kNotify = 2, kAtOffset = 4, kList = 8, kMappable = 16 };

// kNotice, kRevoke, kRelease: the operation of its owner that the window belongs to.
enum WindowFlag : std::uint8_t { kOfSend = 1, kOfReceive = 2 };

// kRecallAck: nobody has begun to read the advert, and it is gone.
enum RecallFlag : std::uint8_t { kRecalled = 1 };

// kTagged, kTaggedAdvert, kHeld. kSynchronous: an ACK with the label's id is to follow when a receive has taken the message.
enum TaggedFlag : std::uint8_t { kSynchronous = 1, kWithData = 2 };

// kFetched: the message has its next bytes in place of its windows.
enum FetchedFlag : std::uint8_t { kPart = 1 };

// A status is never a raw errno, because those differ between systems.
enum class AckStatus : std::uint32_t {
  kTaken = 0,
  kRefused = 1,
  kBusy = 2,
  kOutOfRange = 3,
  kNotPersistent = 4,
};

struct Header {
  MessageType type = MessageType::kReady;
  std::uint8_t flags = 0;     // of its type, see above; else 0
  std::uint16_t credits = 0;  // returned to the receiver of this message
  // Data messages: their number; kAck, kFetch, recalls: the advert's; persistence: the window's.
  std::uint32_t sequence = 0;
};

struct Advert {
  std::uint64_t address = 0;
  std::uint64_t length_bytes = 0;
  std::uint32_t key = 0;
};

// The use of a window.
struct Usage {
  std::uint64_t bytes = 0;
  std::uint64_t last_offset = 0;
  std::uint32_t transfers = 0;
};

struct Ack {
  AckStatus status = AckStatus::kTaken;
  std::uint64_t bytes_taken = 0;
};

// The bits by which a message with a tag is matched, and the fields that go with it.
struct Label {
  std::uint64_t bits = 0;
  std::uint64_t data = 0;            // with kWithData
  std::uint32_t returned_bytes = 0;  // eager bytes that the receiver of this message may use again
  std::uint32_t id = 0;              // names the message in its ACK; 0: no ACK follows
};

struct Message {
  Header header;
  Advert advert;                    // kAdvert, kOffer: the window
  std::uint64_t target_offset = 0;  // kAdvert with kAtOffset
  Ack ack;                          // kAck
  Usage usage;                      // kNotice: since the last one; kRelease: not reported yet
  std::uint64_t total_bytes = 0;    // kRelease
  Label label;                   // kTagged, kTaggedAdvert, kHeld; kReturn: returned_bytes alone; kWant: bits
  std::uint64_t held_bytes = 0;  // kHeld: the payload's length
  std::uint64_t ignore = 0;      // kWant: the bits that may differ
  std::uint32_t granted = 0;     // kGrant: so many more data messages may be under way from now on
  // kImmediate, kTagged, kTaggedAdvert, kFetched, kAdvert with kList: bytes behind the fixed part.
  std::uint32_t payload_bytes = 0;
};

inline constexpr std::size_t kTypeOffset = 0;
inline constexpr std::size_t kFlagsOffset = 1;
inline constexpr std::size_t kCreditsOffset = 2;
inline constexpr std::size_t kSequenceOffset = 4;
inline constexpr std::size_t kHeaderBytes = 8;

inline constexpr std::size_t kAdvertAddressOffset = 8;
inline constexpr std::size_t kAdvertLengthOffset = 16;
inline constexpr std::size_t kAdvertKeyOffset = 24;
inline constexpr std::size_t kAdvertBytes = 28;

inline constexpr std::size_t kAdvertTargetOffset = 28;  // with kAtOffset
inline constexpr std::size_t kAtOffsetAdvertBytes = 36;

// One more window of an advert with kList.
inline constexpr std::size_t kListAddressOffset = 0;
inline constexpr std::size_t kListLengthOffset = 8;
inline constexpr std::size_t kListKeyOffset = 16;
inline constexpr std::size_t kListEntryBytes = 20;

inline constexpr std::size_t kAckStatusOffset = 8;
inline constexpr std::size_t kAckBytesTakenOffset = 12;
inline constexpr std::size_t kAckBytes = 20;

inline constexpr std::size_t kOfferBytes = kAdvertBytes;  // the fields of an ADVERT

inline constexpr std::size_t kUsageBytesOffset = 8;
inline constexpr std::size_t kUsageLastOffset = 16;
inline constexpr std::size_t kUsageTransfersOffset = 24;
inline constexpr std::size_t kNoticeBytes = 28;

// A RELEASE begins like a NOTICE.
inline constexpr std::size_t kReleaseTotalOffset = 28;
inline constexpr std::size_t kReleaseBytes = 36;

inline constexpr std::size_t kLabelBitsOffset = 8;
inline constexpr std::size_t kLabelReturnedOffset = 16;
inline constexpr std::size_t kLabelIdOffset = 20;
inline constexpr std::size_t kTaggedBytes = 24;
inline constexpr std::size_t kLabelDataOffset = 24;  // with kWithData
inline constexpr std::size_t kTaggedWithDataBytes = 32;
inline constexpr std::size_t kLabelBytesMax = kTaggedWithDataBytes - kHeaderBytes;

// In a kHeld the data lies behind the length.
inline constexpr std::size_t kHeldLengthOffset = 24;
inline constexpr std::size_t kHeldBytes = 32;
inline constexpr std::size_t kHeldDataOffset = 32;
inline constexpr std::size_t kHeldWithDataBytes = 40;

inline constexpr std::size_t kWantBitsOffset = 8;
inline constexpr std::size_t kWantIgnoreOffset = 16;
inline constexpr std::size_t kWantBytes = 24;

inline constexpr std::size_t kReturnedOffset = 8;
inline constexpr std::size_t kReturnBytes = 12;

inline constexpr std::size_t kGrantedOffset = 8;
inline constexpr std::size_t kGrantBytes = 12;

inline constexpr std::size_t kLongestFixedBytes = 40;

// A peer announces at most so many messages more than the agreed adverts, when a kWant asks for them.
inline constexpr std::uint32_t kWantedMax = 1U << 20U;

// The most credits of a direction, granted ones included.
inline constexpr std::uint32_t kCreditsMax = 4096;

// The hello, private data of connect and accept.
inline constexpr std::array<std::byte, 4> kMagic{std::byte{'E'}, std::byte{'X'}, std::byte{'S'},
                                                 std::byte{'1'}};

// The end of a hello of kTaggedKind: both ends' ranks or this end's id, and the limits of the unmatched messages that this end holds.
struct Introduction {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t id = 0;  // not 0: of this end, where there are no ranks; then `from` and `to` are not sent
  std::array<std::byte, 16> job_key{};
  std::uint8_t eager_bytes_log2 = 0;  // this end holds so many for the other
  std::uint8_t adverts_log2 = 0;      // and adverts
  std::uint32_t job_size = 0;         // the ranks that this end counts; 0: it does not say
};

struct HelloFields {
  std::uint8_t version_min = 0;
  std::uint8_t version_max = 0;
  std::uint8_t kind = 0;
  std::uint16_t send_credits = 0;
  std::uint16_t receive_credits = 0;
  std::uint32_t small_bytes = 0;
  std::uint16_t read_depth = 0;
  Introduction introduction{};  // kind kTaggedKind
};
inline constexpr std::uint8_t kTaggedKind = 3;

inline constexpr std::size_t kHelloMagicOffset = 0;
inline constexpr std::size_t kHelloVersionMinOffset = 4;
inline constexpr std::size_t kHelloVersionMaxOffset = 5;
inline constexpr std::size_t kHelloKindOffset = 6;
inline constexpr std::size_t kHelloReserved1Offset = 7;  // of kTaggedKind: the upper 8 bits of the job's size
inline constexpr std::size_t kHelloSendCreditsOffset = 8;
inline constexpr std::size_t kHelloReceiveCreditsOffset = 10;
inline constexpr std::size_t kHelloSmallBytesOffset = 12;
inline constexpr std::size_t kHelloReadDepthOffset = 16;
inline constexpr std::size_t kHelloReserved2Offset = 18;  // and the lower 16
inline constexpr std::size_t kHelloBytes = 20;

// In a hello of kTaggedKind these lie behind it.
inline constexpr std::size_t kHelloFromOffset = 20;
inline constexpr std::size_t kHelloToOffset = 24;
inline constexpr std::size_t kHelloJobKeyOffset = 28;
inline constexpr std::size_t kHelloEagerOffset = 44;
inline constexpr std::size_t kHelloAdvertsOffset = 45;
inline constexpr std::size_t kHelloByIdOffset = 46;
inline constexpr std::size_t kHelloReserved3Offset = 47;
inline constexpr std::size_t kTaggedHelloBytes = 48;

// The private data of a rejection.
enum class RejectReason : std::uint32_t {
  kRefused = 1,
  kVersion = 2,
  kKind = 3,
  kProvider = 4,
  kForeign = 5,
  kCrossed = 6,
  kJobSize = 7
};

inline constexpr std::size_t kRejectMagicOffset = 0;
inline constexpr std::size_t kRejectReasonOffset = 4;
inline constexpr std::size_t kRejectBytes = 8;

// With kJobSize these lie behind it.
inline constexpr std::size_t kRejectOwnSizeOffset = 8;
inline constexpr std::size_t kRejectToldSizeOffset = 12;
inline constexpr std::size_t kRejectSizesBytes = 16;

inline constexpr std::uint8_t kVersionMin = 1;
inline constexpr std::uint8_t kVersionMax = 2;        // kMore and kGrant
inline constexpr std::uint8_t kTaggedVersionMax = 2;  // of kTaggedKind: the hello has the job's size
constexpr std::uint8_t version_max_of(std::uint8_t kind) noexcept {
  return kind == kTaggedKind ? kTaggedVersionMax : kVersionMax;
}

}  // namespace exs::wire
