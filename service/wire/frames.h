// The frames between two nodes: FORMAT.md in code. Layout only, no state. Decoders take untrusted bytes: their results stay within the
// frame, and invalid frames give nothing.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "service/wire/cursor.h"

namespace exs::svc {

inline constexpr std::size_t kFrameMax = 4352;
inline constexpr std::size_t kHeaderBytes = 24;
inline constexpr std::size_t kItemsMax = 16;  // short ones, and as many long ones
inline constexpr std::size_t kShortMax = 4000;
inline constexpr std::uint64_t kLongMax = std::uint64_t{1} << 40;  // bytes of a long item
static_assert(kHeaderBytes + 12 + 2 * (2 + 8 * kItemsMax) + 2 * kItemsMax + kShortMax <= kFrameMax);
inline constexpr std::uint16_t kProtocolVersion = 1;

using IdBytes = std::array<std::uint8_t, 16>;
using Nonce = std::array<std::uint8_t, 32>;
using PublicKey = std::array<std::uint8_t, 32>;
using Signature = std::array<std::uint8_t, 64>;
using Proof = std::array<std::uint8_t, 32>;

enum class FrameType : std::uint8_t {
  kHello = 1,
  kFlow = 2,
  kFlowOk = 3,
  kFlowNo = 4,
  kData = 5,
  kAck = 6,
  kNack = 7,
  kPing = 8,
  kPong = 9,
  kFlowEnd = 10,
  kCancel = 11,
  kWantBulk = 12,
  kInfo = 13,
  kStats = 14
};

// Why a flow or a message is refused.
enum class Refusal : std::uint32_t {
  kNobody = 1,      // the service is not here
  kNotAllowed = 2,  // without a capability, or with this one
  kTooMany = 3,     // flows on this link
  kNoRoom = 4,      // in the mailbox, for long items, or for another request
  kMoved = 5        // the service is elsewhere, as the record that follows says; FLOW_NO only
};

struct FlowRefusal {
  Refusal why = Refusal::kNobody;
  Bytes record;  // of kMoved
};

struct Header {
  FrameType type = FrameType::kHello;
  std::uint8_t flags = 0;
  std::uint16_t count = 0;
  std::uint32_t flow = 0;
  std::uint64_t number = 0;
  std::uint64_t ack = 0;
};

struct Hello {
  std::uint16_t version = kProtocolVersion;
  Nonce nonce{};  // of a bulk: the token of its link; of a lane: that of its flow
  bool is_of_bulk = false;
  bool is_of_lane = false;
  std::uint32_t flow = 0;  // of a lane
  bool operator==(const Hello&) const = default;
};

// The proven identity of a flow's sender, if it gives one.
struct Sender {
  PublicKey key{};
  Signature signature{};
};
struct CapabilityProof {
  std::uint32_t rights = 0;
  std::uint32_t serial = 0;
  std::int64_t expires_ms = 0;
  Proof proof{};
};
struct Flow {
  IdBytes target{};
  std::uint64_t client = 0;  // random number of the sender's node; with flow_number it names the flow
  std::uint64_t flow_number = 0;
  std::uint64_t instance = 0;  // the service's instance that the frame's ack refers to; 0: none
  std::optional<Sender> sender{};
  std::optional<CapabilityProof> capability{};
};
inline constexpr std::uint8_t kHasSender = 1;
inline constexpr std::uint8_t kHasCapability = 2;

struct FlowOk {
  PublicKey key{};
  std::uint64_t instance = 0;  // of the service; changes with each start
  Signature signature{};
  bool is_known = false;  // the flow was open before
};

// The load of a service.
struct Stats {
  std::uint64_t open_ns = 0;
  std::uint64_t messages = 0;
  std::uint64_t replies = 0;
  std::uint64_t mailbox = 0;
  std::uint64_t requests_open = 0;
  std::uint64_t flows = 0;
  std::uint64_t windows_free = 0;
};
inline constexpr std::size_t kStatsBytes = kHeaderBytes + std::size_t{7} * 8;

// The kind of a DATA frame.
inline constexpr std::uint8_t kIsRequest = 1;
inline constexpr std::uint8_t kIsReply = 2;
inline constexpr std::uint8_t kMoreFollow = 4;  // parts of the reply
inline constexpr std::uint8_t kUnanswered = 8;  // a reply that the library gives in place of the service
// Status of a request that the program had when its service moved.
inline constexpr std::int32_t kUnansweredAtMove = 1;
inline constexpr std::uint8_t kHasLongItems = 16;
inline constexpr std::uint8_t kIsVoid = 32;  // a number without a message
inline constexpr std::uint8_t kHasReturns = 64;
struct Items {
  std::array<Bytes, kItemsMax> item;
  std::size_t count = 0;
};
struct LongLengths {
  std::array<std::uint64_t, kItemsMax> bytes{};
  std::size_t count = 0;
};
// A part of the memory that the service may write by the flow's lane.
struct ReturnSlot {
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;  // 0: none, for a long item that uses the bulk
};
struct Data {
  std::uint8_t kind = 0;            // of the flags above; those for long items and returns are computed
  std::uint64_t call = 0;           // of a request or a reply: the request's number
  std::uint32_t limit_ms = 0;       // of a request; 0: none
  std::int32_t status = 0;          // of a reply
  std::vector<ReturnSlot> returns;  // of a request; few have any
  // Of a reply to a request with places: the writes on the lane when its long items are there. 0: they use the bulk.
  std::optional<std::uint64_t> lane_count;
  LongLengths longs;  // on the bulk, unless the lane writes them
  Items items;
};

// All encoders return the bytes of the frame, or nothing if `to` is too small.
using Encoded = std::span<const std::uint8_t>;
Encoded encode_bare(std::span<std::uint8_t> to, const Header& header);
Encoded encode_hello(std::span<std::uint8_t> to, const Hello& hello);
// `taken` is the number of the service's last message that is done.
Encoded encode_flow(std::span<std::uint8_t> to, std::uint32_t alias, const Flow& flow,
                    std::uint64_t taken = 0);
Encoded encode_flow_ok(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t accepted,
                       const FlowOk& ok);
// `accepted` says how far an open flow was accepted that is refused from now on.
Encoded encode_flow_no(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t accepted, Refusal why);
Encoded encode_flow_moved(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t accepted,
                          Bytes record);
Encoded encode_nack(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number, Refusal why);
Encoded encode_stats(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number,
                     const Stats& stats);
Encoded encode_data(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number, const Data& data);
// Changes the flow and the numbers of a kept DATA frame that is sent again. Nothing else may change.
void renumber(std::span<std::uint8_t> frame, std::uint32_t alias, std::uint64_t number, std::uint64_t ack);

// Sets the lane count of a DATA frame that has one.
void set_lane_count(std::span<std::uint8_t> frame, std::uint64_t count);

std::optional<Header> decode_header(Bytes frame);
// Each decoder takes a frame whose header has its type.
std::optional<Hello> decode_hello(Bytes frame);
std::optional<Flow> decode_flow(Bytes frame, const Header& header);
std::optional<FlowOk> decode_flow_ok(Bytes frame, const Header& header);
std::optional<FlowRefusal> decode_flow_no(Bytes frame);
std::optional<Refusal> decode_nack(Bytes frame);
std::optional<Stats> decode_stats(Bytes frame);
std::optional<Data> decode_data(Bytes frame, const Header& header);
// The frame has no body.
bool is_bare(Bytes frame);

}  // namespace exs::svc
