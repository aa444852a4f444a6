// SPDX-License-Identifier: BSD-2-Clause
#include "service/wire/handover.h"

namespace exs::svc {
namespace {

constexpr std::uint32_t kHandoverMagic = 0x45585348;  // "EXSH"
constexpr std::size_t kFlowBytesLeast = 8 + 8 + 16 + 8 + 2 + 8 + 2;
constexpr std::size_t kMessageBytesLeast = 1 + 16 + 2 + 2;

// A Writer into memory that grows.
class Appender {
 public:
  template <class Number>
  void number(Number value) {
    std::array<std::uint8_t, sizeof(Number)> bytes;
    Writer(bytes).number(value);
    raw(bytes);
  }
  void raw(Bytes bytes) { to_.insert(to_.end(), bytes.begin(), bytes.end()); }
  std::vector<std::uint8_t> take() { return std::move(to_); }

 private:
  std::vector<std::uint8_t> to_;
};

void append(Appender& to, const MovedFlow& flow) {
  to.number(flow.client);
  to.number(flow.flow_number);
  to.raw(flow.from);
  to.number(flow.accepted);
  to.number(static_cast<std::uint16_t>(flow.calls.size()));
  for (const std::uint64_t call : flow.calls) to.number(call);
  to.number(flow.first_reply);
  to.number(static_cast<std::uint16_t>(flow.replies.size()));
  for (const Bytes reply : flow.replies) {
    to.number(static_cast<std::uint16_t>(reply.size()));
    to.raw(reply);
  }
}

void append(Appender& to, const MovedMessage& message) {
  to.number(static_cast<std::uint8_t>(message.is_request));
  to.raw(message.from);
  if (message.is_request) {
    to.number(message.client);
    to.number(message.flow_number);
    to.number(message.call);
    to.number(static_cast<std::uint64_t>(message.limit_ns));
  }
  const std::span<const Bytes> items = std::span(message.items.item).first(message.items.count);
  to.number(static_cast<std::uint16_t>(items.size()));
  to.number(static_cast<std::uint16_t>(message.longs.size()));
  for (const Bytes item : items) to.number(static_cast<std::uint16_t>(item.size()));
  for (const Bytes item : message.longs) to.number(std::uint64_t{item.size()});
  for (const Bytes item : items) to.raw(item);
  for (const Bytes item : message.longs) to.raw(item);
}

// Only replies move; they are sent again unchanged.
bool is_reply(Bytes frame) {
  const std::optional<Header> header = decode_header(frame);
  if (frame.size() > kFrameMax || !header || header->type != FrameType::kData) return false;
  const std::optional<Data> data = decode_data(frame, *header);
  return data && (data->kind & kIsReply) != 0 && data->longs.count == 0;
}

bool read(Reader& from, MovedFlow& flow) {
  flow.client = from.number<std::uint64_t>();
  flow.flow_number = from.number<std::uint64_t>();
  flow.from = from.array<16>();
  flow.accepted = from.number<std::uint64_t>();
  const auto calls = from.number<std::uint16_t>();
  if (calls > kMovedMost) return false;
  for (std::size_t i = 0; i < calls; ++i) flow.calls.push_back(from.number<std::uint64_t>());
  flow.first_reply = from.number<std::uint64_t>();
  const auto replies = from.number<std::uint16_t>();
  if (flow.first_reply == 0 || calls + std::size_t{replies} > kMovedMost) return false;
  for (std::size_t i = 0; i < replies; ++i) {
    const Bytes frame = from.raw(from.number<std::uint16_t>());
    if (!is_reply(frame)) return false;
    flow.replies.push_back(frame);
  }
  return from.good();
}

bool read(Reader& from, MovedMessage& message) {
  const auto kind = from.number<std::uint8_t>();
  message.from = from.array<16>();
  if (kind > 1) return false;
  message.is_request = kind == 1;
  if (message.is_request) {
    message.client = from.number<std::uint64_t>();
    message.flow_number = from.number<std::uint64_t>();
    message.call = from.number<std::uint64_t>();
    message.limit_ns = static_cast<std::int64_t>(from.number<std::uint64_t>());
    if (message.limit_ns < 0) return false;
  }
  const auto items = from.number<std::uint16_t>();
  const auto longs = from.number<std::uint16_t>();
  if (items > kItemsMax || longs > kItemsMax) return false;
  std::array<std::uint16_t, kItemsMax> lengths{};
  std::array<std::uint64_t, kItemsMax> long_lengths{};
  for (std::size_t i = 0; i < items; ++i) lengths[i] = from.number<std::uint16_t>();
  for (std::size_t i = 0; i < longs; ++i) long_lengths[i] = from.number<std::uint64_t>();
  message.items.count = items;
  for (std::size_t i = 0; i < items; ++i) message.items.item[i] = from.raw(lengths[i]);
  for (std::size_t i = 0; i < longs; ++i)
    message.longs.push_back(from.raw(static_cast<std::size_t>(long_lengths[i])));
  return from.good();
}

// Reads as many as the count says. Each takes at least `least_bytes`.
template <class Thing>
bool read_all(Reader& from, std::size_t least_bytes, std::vector<Thing>& things) {
  const auto count = from.number<std::uint32_t>();
  if (count > from.left_bytes() / least_bytes) return false;
  things.resize(count);
  for (Thing& thing : things)
    if (!read(from, thing)) return false;
  return from.good();
}

}  // namespace

std::array<std::uint8_t, kHandoverHeadBytes> encode_handover_head(const HandoverHead& head) {
  std::array<std::uint8_t, kHandoverHeadBytes> bytes;
  Writer writer(bytes);
  writer.number(kHandoverMagic);
  writer.number(static_cast<std::uint8_t>(head.step));
  writer.number(head.token);
  writer.number(head.instance);
  writer.number(head.epoch);
  return bytes;
}

std::optional<HandoverHead> decode_handover_head(Bytes bytes) {
  Reader reader(bytes);
  const auto magic = reader.number<std::uint32_t>();
  const auto step = reader.number<std::uint8_t>();
  HandoverHead head;
  head.token = reader.number<std::uint64_t>();
  head.instance = reader.number<std::uint64_t>();
  head.epoch = reader.number<std::uint64_t>();
  const bool is_step = step == static_cast<std::uint8_t>(HandoverStep::kPrepare) ||
                       step == static_cast<std::uint8_t>(HandoverStep::kCommit);
  if (!reader.ended() || magic != kHandoverMagic || !is_step || head.instance == 0) return {};
  head.step = static_cast<HandoverStep>(step);
  return head;
}

std::vector<std::uint8_t> encode_handover(const Handover& handover) {
  Appender to;
  to.number(static_cast<std::uint32_t>(handover.flows.size()));
  for (const MovedFlow& flow : handover.flows) append(to, flow);
  to.number(static_cast<std::uint32_t>(handover.messages.size()));
  for (const MovedMessage& message : handover.messages) append(to, message);
  return to.take();
}

std::optional<Handover> decode_handover(Bytes bytes) {
  Reader reader(bytes);
  Handover handover;
  if (!read_all(reader, kFlowBytesLeast, handover.flows) ||
      !read_all(reader, kMessageBytesLeast, handover.messages) || !reader.ended())
    return {};
  return handover;
}

}  // namespace exs::svc
