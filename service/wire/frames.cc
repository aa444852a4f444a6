// SPDX-License-Identifier: BSD-2-Clause
#include "service/wire/frames.h"

namespace exs::svc {
namespace {

constexpr std::uint32_t kFrameMagic = 0x45585356;  // "EXSV"
// Flags of HELLO and of FLOW_OK.
constexpr std::uint8_t kOfBulk = 1;
constexpr std::uint8_t kOfLane = 2;
constexpr std::uint8_t kKnown = 1;

void write_header(Writer& to, const Header& header) {
  to.number(static_cast<std::uint8_t>(header.type));
  to.number(header.flags);
  to.number(header.count);
  to.number(header.flow);
  to.number(header.number);
  to.number(header.ack);
}

Encoded written(std::span<std::uint8_t> to, const Writer& writer) {
  return writer.good() ? Encoded(to).first(writer.written_bytes()) : Encoded();
}

Reader body_of(Bytes frame) {
  return Reader(frame.subspan(std::min(frame.size(), kHeaderBytes)));
}

bool is_type(std::uint8_t type) {
  return type >= static_cast<std::uint8_t>(FrameType::kHello) &&
         type <= static_cast<std::uint8_t>(FrameType::kStats);
}

}  // namespace

Encoded encode_bare(std::span<std::uint8_t> to, const Header& header) {
  Writer writer(to);
  write_header(writer, header);
  return written(to, writer);
}

Encoded encode_hello(std::span<std::uint8_t> to, const Hello& hello) {
  Writer writer(to);
  const std::uint8_t flags = hello.is_of_bulk ? kOfBulk : hello.is_of_lane ? kOfLane : 0;
  write_header(writer,
               {.type = FrameType::kHello, .flags = flags, .count = hello.version, .flow = hello.flow});
  writer.number(kFrameMagic);
  writer.raw(hello.nonce);
  return written(to, writer);
}

Encoded encode_flow(std::span<std::uint8_t> to, std::uint32_t alias, const Flow& flow, std::uint64_t taken) {
  Writer writer(to);
  const unsigned flags = (flow.sender ? kHasSender : 0U) | (flow.capability ? kHasCapability : 0U);
  write_header(
      writer,
      {.type = FrameType::kFlow, .flags = static_cast<std::uint8_t>(flags), .flow = alias, .ack = taken});
  writer.raw(flow.target);
  writer.number(flow.client);
  writer.number(flow.flow_number);
  writer.number(flow.instance);
  if (flow.sender) {
    writer.raw(flow.sender->key);
    writer.raw(flow.sender->signature);
  }
  if (flow.capability) {
    writer.number(flow.capability->rights);
    writer.number(flow.capability->serial);
    writer.number(static_cast<std::uint64_t>(flow.capability->expires_ms));
    writer.raw(flow.capability->proof);
  }
  return written(to, writer);
}

Encoded encode_flow_ok(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t accepted,
                       const FlowOk& ok) {
  Writer writer(to);
  const std::uint8_t flags = ok.is_known ? kKnown : 0;
  write_header(writer, {.type = FrameType::kFlowOk, .flags = flags, .flow = alias, .ack = accepted});
  writer.raw(ok.key);
  writer.number(ok.instance);
  writer.raw(ok.signature);
  return written(to, writer);
}

Encoded encode_flow_no(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t accepted, Refusal why) {
  Writer writer(to);
  write_header(writer, {.type = FrameType::kFlowNo, .flow = alias, .ack = accepted});
  writer.number(static_cast<std::uint32_t>(why));
  return written(to, writer);
}

Encoded encode_flow_moved(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t accepted,
                          Bytes record) {
  Writer writer(to);
  write_header(writer, {.type = FrameType::kFlowNo, .flow = alias, .ack = accepted});
  writer.number(static_cast<std::uint32_t>(Refusal::kMoved));
  writer.raw(record);
  return written(to, writer);
}

Encoded encode_nack(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number, Refusal why) {
  Writer writer(to);
  write_header(writer, {.type = FrameType::kNack, .flow = alias, .number = number});
  writer.number(static_cast<std::uint32_t>(why));
  return written(to, writer);
}

Encoded encode_stats(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number,
                     const Stats& stats) {
  Writer writer(to);
  write_header(writer, {.type = FrameType::kStats, .flow = alias, .number = number});
  for (const std::uint64_t value : {stats.open_ns, stats.messages, stats.replies, stats.mailbox,
                                    stats.requests_open, stats.flows, stats.windows_free})
    writer.number(value);
  return written(to, writer);
}

namespace {

// The offset of the count in a reply's frame, behind its number and its status.
constexpr std::size_t kLaneCountAt = kHeaderBytes + 12;

void write_returns(Writer& to, const Data& data) {
  if (data.lane_count) return to.number(*data.lane_count);
  to.number(static_cast<std::uint16_t>(data.returns.size()));
  for (const ReturnSlot& slot : data.returns) {
    to.number(slot.offset);
    to.number(slot.bytes);
  }
}

}  // namespace

Encoded encode_data(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number, const Data& data) {
  if (data.items.count > kItemsMax || data.longs.count > kItemsMax || data.returns.size() > kItemsMax)
    return {};
  const std::span<const Bytes> items = std::span(data.items.item).first(data.items.count);
  std::size_t left = kShortMax;
  for (const Bytes item : items) {
    if (item.size() > left) return {};
    left -= item.size();
  }
  Writer writer(to);
  const bool has_returns = data.lane_count || !data.returns.empty();
  const unsigned flags =
      data.kind | (data.longs.count > 0 ? kHasLongItems : 0U) | (has_returns ? kHasReturns : 0U);
  write_header(writer, {.type = FrameType::kData,
                        .flags = static_cast<std::uint8_t>(flags),
                        .count = static_cast<std::uint16_t>(items.size()),
                        .flow = alias,
                        .number = number});
  if ((flags & (kIsRequest | kIsReply)) != 0) {
    writer.number(data.call);
    writer.number((flags & kIsRequest) != 0 ? data.limit_ms : static_cast<std::uint32_t>(data.status));
  }
  if (has_returns) write_returns(writer, data);
  if (data.longs.count > 0) {
    writer.number(static_cast<std::uint16_t>(data.longs.count));
    for (std::size_t i = 0; i < data.longs.count; ++i) writer.number(data.longs.bytes[i]);
  }
  for (const Bytes item : items) writer.number(static_cast<std::uint16_t>(item.size()));
  for (const Bytes item : items) writer.raw(item);
  return written(to, writer);
}

void renumber(std::span<std::uint8_t> frame, std::uint32_t alias, std::uint64_t number, std::uint64_t ack) {
  constexpr std::size_t kAt = 4;
  Writer writer(frame.subspan(kAt));
  writer.number(alias);
  writer.number(number);
  writer.number(ack);
}

void set_lane_count(std::span<std::uint8_t> frame, std::uint64_t count) {
  Writer(frame.subspan(kLaneCountAt)).number(count);
}

std::optional<Header> decode_header(Bytes frame) {
  Reader reader(frame);
  const auto type = reader.number<std::uint8_t>();
  Header header;
  header.flags = reader.number<std::uint8_t>();
  header.count = reader.number<std::uint16_t>();
  header.flow = reader.number<std::uint32_t>();
  header.number = reader.number<std::uint64_t>();
  header.ack = reader.number<std::uint64_t>();
  if (!reader.good() || !is_type(type)) return {};
  header.type = static_cast<FrameType>(type);
  return header;
}

std::optional<Hello> decode_hello(Bytes frame) {
  const std::optional<Header> header = decode_header(frame);
  Reader reader = body_of(frame);
  const auto magic = reader.number<std::uint32_t>();
  Hello hello;
  hello.nonce = reader.array<32>();
  if (header) {
    hello.version = header->count;
    hello.is_of_bulk = (header->flags & kOfBulk) != 0;
    hello.is_of_lane = !hello.is_of_bulk && (header->flags & kOfLane) != 0;
    if (hello.is_of_lane) hello.flow = header->flow;
  }
  if (!header || magic != kFrameMagic || !reader.ended()) return {};
  return hello;
}

std::optional<Flow> decode_flow(Bytes frame, const Header& header) {
  Reader reader = body_of(frame);
  Flow flow;
  flow.target = reader.array<16>();
  flow.client = reader.number<std::uint64_t>();
  flow.flow_number = reader.number<std::uint64_t>();
  flow.instance = reader.number<std::uint64_t>();
  if ((header.flags & kHasSender) != 0) {
    flow.sender.emplace();
    flow.sender->key = reader.array<32>();
    flow.sender->signature = reader.array<64>();
  }
  if ((header.flags & kHasCapability) != 0) {
    flow.capability.emplace();
    flow.capability->rights = reader.number<std::uint32_t>();
    flow.capability->serial = reader.number<std::uint32_t>();
    flow.capability->expires_ms = static_cast<std::int64_t>(reader.number<std::uint64_t>());
    flow.capability->proof = reader.array<32>();
  }
  if (!reader.ended()) return {};
  return flow;
}

std::optional<FlowOk> decode_flow_ok(Bytes frame, const Header& header) {
  Reader reader = body_of(frame);
  FlowOk ok;
  ok.is_known = (header.flags & kKnown) != 0;
  ok.key = reader.array<32>();
  ok.instance = reader.number<std::uint64_t>();
  ok.signature = reader.array<64>();
  if (!reader.ended()) return {};
  return ok;
}

std::optional<FlowRefusal> decode_flow_no(Bytes frame) {
  Reader reader = body_of(frame);
  const auto why = static_cast<Refusal>(reader.number<std::uint32_t>());
  if (!reader.good() || why < Refusal::kNobody || why > Refusal::kMoved) return {};
  FlowRefusal refusal{why, {}};
  if (why == Refusal::kMoved) refusal.record = reader.raw(reader.left_bytes());
  if (!reader.ended()) return {};
  return refusal;
}

std::optional<Refusal> decode_nack(Bytes frame) {
  const std::optional<FlowRefusal> refusal = decode_flow_no(frame);
  if (!refusal || refusal->why == Refusal::kMoved) return {};
  return refusal->why;
}

std::optional<Stats> decode_stats(Bytes frame) {
  Reader reader = body_of(frame);
  Stats stats;
  for (std::uint64_t* const value : {&stats.open_ns, &stats.messages, &stats.replies, &stats.mailbox,
                                     &stats.requests_open, &stats.flows, &stats.windows_free})
    *value = reader.number<std::uint64_t>();
  if (!reader.good() || !reader.ended()) return {};
  return stats;
}

namespace {

// The frame is a request, a reply, or neither; flags of replies are valid for replies only.
bool is_kind(unsigned kind) {
  if ((kind & kIsVoid) != 0) return kind == kIsVoid;
  const bool is_reply = (kind & kIsReply) != 0;
  if (is_reply && (kind & kIsRequest) != 0) return false;
  return is_reply || (kind & (kMoreFollow | kUnanswered)) == 0;
}

// Reads the places of a request, or the lane count of a reply with long items.
bool read_returns(Reader& reader, const Header& header, Data& data) {
  if ((data.kind & kIsReply) != 0) {
    data.lane_count = reader.number<std::uint64_t>();
    return (header.flags & kHasLongItems) != 0;
  }
  const auto count = reader.number<std::uint16_t>();
  if ((data.kind & kIsRequest) == 0 || count == 0 || count > kItemsMax) return false;
  data.returns.resize(count);
  for (ReturnSlot& slot : data.returns) {
    slot.offset = reader.number<std::uint32_t>();
    slot.bytes = reader.number<std::uint32_t>();
  }
  return true;
}

// Reads the lengths of long items; the count has to be valid.
bool read_longs(Reader& reader, LongLengths& longs) {
  longs.count = reader.number<std::uint16_t>();
  if (longs.count == 0 || longs.count > kItemsMax) return false;
  for (std::size_t i = 0; i < longs.count; ++i) {
    longs.bytes[i] = reader.number<std::uint64_t>();
    if (longs.bytes[i] > kLongMax) return false;
  }
  return true;
}

bool read_items(Reader& reader, std::size_t count, Items& items) {
  if (count > kItemsMax) return false;
  items.count = count;
  std::array<std::uint16_t, kItemsMax> length{};
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += length[i] = reader.number<std::uint16_t>();
  if (sum > kShortMax) return false;
  for (std::size_t i = 0; i < count; ++i) items.item[i] = reader.raw(length[i]);
  return reader.ended();
}

}  // namespace

std::optional<Data> decode_data(Bytes frame, const Header& header) {
  Data data;
  data.kind = header.flags & (kIsRequest | kIsReply | kMoreFollow | kUnanswered | kIsVoid);
  if (!is_kind(data.kind)) return {};
  Reader reader = body_of(frame);
  if ((data.kind & (kIsRequest | kIsReply)) != 0) {
    data.call = reader.number<std::uint64_t>();
    const auto value = reader.number<std::uint32_t>();
    if ((data.kind & kIsRequest) != 0) {
      data.limit_ms = value;
    } else {
      data.status = static_cast<std::int32_t>(value);
    }
  }
  if ((header.flags & kHasReturns) != 0 && !read_returns(reader, header, data)) return {};
  if ((header.flags & kHasLongItems) != 0 && !read_longs(reader, data.longs)) return {};
  if (!read_items(reader, header.count, data.items)) return {};
  return data;
}

bool is_bare(Bytes frame) {
  return frame.size() == kHeaderBytes;
}

}  // namespace exs::svc
