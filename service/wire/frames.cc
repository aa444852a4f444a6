#include "service/wire/frames.h"

namespace exs::svc {
namespace {

constexpr std::uint32_t kMagic = 0x45585356;  // "EXSV"

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
         type <= static_cast<std::uint8_t>(FrameType::kFlowEnd);
}

}  // namespace

Encoded encode_bare(std::span<std::uint8_t> to, const Header& header) {
  Writer writer(to);
  write_header(writer, header);
  return written(to, writer);
}

Encoded encode_hello(std::span<std::uint8_t> to, const Hello& hello) {
  Writer writer(to);
  write_header(writer, {.type = FrameType::kHello, .count = hello.version});
  writer.number(kMagic);
  writer.raw(hello.nonce);
  return written(to, writer);
}

Encoded encode_flow(std::span<std::uint8_t> to, std::uint32_t alias, const Flow& flow) {
  Writer writer(to);
  const unsigned flags = (flow.sender ? kHasSender : 0U) | (flow.capability ? kHasCapability : 0U);
  write_header(writer, {.type = FrameType::kFlow, .flags = static_cast<std::uint8_t>(flags), .flow = alias});
  writer.raw(flow.target);
  writer.number(flow.client);
  writer.number(flow.flow_number);
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
  write_header(writer, {.type = FrameType::kFlowOk, .flow = alias, .ack = accepted});
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

Encoded encode_nack(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number, Refusal why) {
  Writer writer(to);
  write_header(writer, {.type = FrameType::kNack, .flow = alias, .number = number});
  writer.number(static_cast<std::uint32_t>(why));
  return written(to, writer);
}

Encoded encode_data(std::span<std::uint8_t> to, std::uint32_t alias, std::uint64_t number,
                    std::span<const Bytes> items) {
  if (items.size() > kItemsMax) return {};
  std::size_t left = kShortMax;
  for (const Bytes item : items) {
    if (item.size() > left) return {};
    left -= item.size();
  }
  Writer writer(to);
  write_header(writer, {.type = FrameType::kData,
                        .count = static_cast<std::uint16_t>(items.size()),
                        .flow = alias,
                        .number = number});
  for (const Bytes item : items) writer.number(static_cast<std::uint16_t>(item.size()));
  for (const Bytes item : items) writer.raw(item);
  return written(to, writer);
}

void renumber(std::span<std::uint8_t> frame, std::uint32_t alias, std::uint64_t number) {
  constexpr std::size_t kAt = 4;
  Writer writer(frame.subspan(kAt));
  writer.number(alias);
  writer.number(number);
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
  const Hello hello{header ? header->count : std::uint16_t{0}, reader.array<32>()};
  if (!header || magic != kMagic || !reader.ended()) return {};
  return hello;
}

std::optional<Flow> decode_flow(Bytes frame, const Header& header) {
  Reader reader = body_of(frame);
  Flow flow;
  flow.target = reader.array<16>();
  flow.client = reader.number<std::uint64_t>();
  flow.flow_number = reader.number<std::uint64_t>();
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

std::optional<FlowOk> decode_flow_ok(Bytes frame) {
  Reader reader = body_of(frame);
  FlowOk ok;
  ok.key = reader.array<32>();
  ok.instance = reader.number<std::uint64_t>();
  ok.signature = reader.array<64>();
  if (!reader.ended()) return {};
  return ok;
}

std::optional<Refusal> decode_refusal(Bytes frame) {
  Reader reader = body_of(frame);
  const auto why = reader.number<std::uint32_t>();
  if (!reader.ended() || why < static_cast<std::uint32_t>(Refusal::kNobody) ||
      why > static_cast<std::uint32_t>(Refusal::kMailboxFull))
    return {};
  return static_cast<Refusal>(why);
}

std::optional<Items> decode_data(Bytes frame, const Header& header) {
  Items items;
  if (header.count > kItemsMax) return {};
  items.count = header.count;
  Reader reader = body_of(frame);
  std::array<std::uint16_t, kItemsMax> length{};
  std::size_t sum = 0;
  for (std::size_t i = 0; i < items.count; ++i) sum += length[i] = reader.number<std::uint16_t>();
  if (sum > kShortMax) return {};
  for (std::size_t i = 0; i < items.count; ++i) items.item[i] = reader.raw(length[i]);
  if (!reader.ended()) return {};
  return items;
}

bool is_bare(Bytes frame) {
  return frame.size() == kHeaderBytes;
}

}  // namespace exs::svc
