#include "src/proto/hello.h"

#include <algorithm>

#include "src/wire/codec.h"

namespace exs::proto {
namespace {

// Zero credits or reads could never move a byte, and the wire has 16 bits.
std::uint16_t at_least_one(std::uint32_t wish) {
  return static_cast<std::uint16_t>(std::clamp<std::uint32_t>(wish, 1, UINT16_MAX));
}

wire::HelloFields fields_of(const Wishes& wishes) {
  wire::HelloFields fields;
  fields.version_min = wire::kVersionMin;
  fields.version_max = wire::kVersionMax;
  fields.kind = static_cast<std::uint8_t>(wishes.kind);
  fields.send_credits = at_least_one(wishes.send_credits);
  fields.receive_credits = at_least_one(wishes.receive_credits);
  fields.small_bytes = wishes.small_bytes;
  fields.read_depth = at_least_one(wishes.read_depth);
  return fields;
}

static_assert(wire::kHelloBytes <= kHelloBytesMax && wire::kRejectBytes <= kHelloBytesMax);

}  // namespace

Hello make_hello(const Wishes& wishes) {
  Hello hello;
  hello.length_bytes = wire::kHelloBytes;
  wire::encode_hello(fields_of(wishes), std::span(hello.bytes).first<wire::kHelloBytes>());
  return hello;
}

Result<Agreement> agree(const Wishes& wishes, std::span<const std::byte> peer_hello) {
  const auto decoded = wire::decode_hello(peer_hello);
  if (!decoded) return failure(decoded.error());
  const wire::HelloFields& peer = *decoded;
  const wire::HelloFields ours = fields_of(wishes);
  const std::uint8_t version = std::min(ours.version_max, peer.version_max);
  if (version < std::max(ours.version_min, peer.version_min)) return failure(EPROTONOSUPPORT);
  if (peer.kind != ours.kind) return failure(EPROTOTYPE);

  Agreement agreement;
  agreement.version = version;
  agreement.kind = wishes.kind;
  agreement.send_credits = std::min(ours.send_credits, peer.receive_credits);
  agreement.receive_credits = std::min(ours.receive_credits, peer.send_credits);
  agreement.small_bytes = std::min(ours.small_bytes, peer.small_bytes);
  agreement.reads_out = std::min(ours.read_depth, peer.read_depth);
  agreement.reads_in = agreement.reads_out;
  return agreement;
}

Hello make_rejection(int reason) {
  wire::RejectReason code = wire::RejectReason::kRefused;
  if (reason == EPROTONOSUPPORT) code = wire::RejectReason::kVersion;
  if (reason == EPROTOTYPE) code = wire::RejectReason::kKind;
  if (reason == EOPNOTSUPP) code = wire::RejectReason::kProvider;
  Hello hello;
  hello.length_bytes = wire::kRejectBytes;
  wire::encode_rejection(code, std::span(hello.bytes).first<wire::kRejectBytes>());
  return hello;
}

bool is_rejection(std::span<const std::byte> private_data) {
  return wire::decode_rejection(private_data).has_value();
}

Status rejection_reason(std::span<const std::byte> private_data) {
  const auto reason = wire::decode_rejection(private_data);
  if (reason && *reason == wire::RejectReason::kVersion) return Status(EPROTONOSUPPORT);
  if (reason && *reason == wire::RejectReason::kKind) return Status(EPROTOTYPE);
  if (reason && *reason == wire::RejectReason::kProvider) return Status(EOPNOTSUPP);
  return Status(ECONNREFUSED);
}

}  // namespace exs::proto
