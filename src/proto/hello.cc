// SPDX-License-Identifier: BSD-2-Clause
#include "src/proto/hello.h"

#include <algorithm>

#include "src/log/log.h"
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
  fields.kind = static_cast<std::uint8_t>(wishes.kind);
  fields.version_max = wire::version_max_of(fields.kind);
  fields.send_credits = at_least_one(wishes.send_credits);
  fields.receive_credits = at_least_one(wishes.receive_credits);
  fields.small_bytes = wishes.small_bytes;
  fields.read_depth = at_least_one(wishes.read_depth);
  const Introduction& ours = wishes.introduction;
  fields.introduction = {.from = ours.rank,
                         .to = ours.peer_rank,
                         .id = ours.id,
                         .job_key = ours.job_key,
                         .eager_bytes_log2 = ours.eager_bytes_log2,
                         .adverts_log2 = ours.adverts_log2,
                         .job_size = ours.job_size};
  return fields;
}

// Compares the whole key, so that the time reveals nothing.
bool is_same(const std::array<std::byte, 16>& key, const std::array<std::byte, 16>& other) {
  std::byte differs{0};
  for (std::size_t i = 0; i < key.size(); ++i) differs |= key[i] ^ other[i];
  return differs == std::byte{0};
}

bool is_meant(const Introduction& ours, const wire::Introduction& peers) {
  if (ours.id != 0) return peers.id != 0 && (ours.peer_id == 0 || peers.id == ours.peer_id);
  if (peers.id != 0) return false;
  return ours.peer_rank == Introduction::kAnyRank ? peers.to == ours.rank : peers.from == ours.peer_rank;
}

constexpr char kOneList[] = "give all processes of the job the same size, and one list of addresses";

// Only ends with the job's key get to know sizes.
Status check_introduction(const Introduction& ours, const wire::Introduction& peers) {
  if (!is_same(ours.job_key, peers.job_key)) return Status(EACCES);
  if (ours.job_size != 0 && peers.job_size != 0 && ours.job_size != peers.job_size)
    return fault(LogLevel::kWarn, ERANGE,
                 "rank {} counts {} ranks in the job, and rank {}, which this is, counts {}: {}", peers.from,
                 peers.job_size, ours.rank, ours.job_size, kOneList);
  return is_meant(ours, peers) ? Status() : Status(EACCES);
}

TaggedAgreement agree_on_tagged(const Introduction& ours, const wire::Introduction& peers) {
  return {.peer_rank = peers.from,
          .peer_id = peers.id,
          .eager_bytes_out = std::uint64_t{1} << peers.eager_bytes_log2,
          .eager_bytes_in = std::uint64_t{1} << ours.eager_bytes_log2,
          .adverts_out = std::uint32_t{1} << peers.adverts_log2,
          .adverts_in = std::uint32_t{1} << ours.adverts_log2};
}

static_assert(static_cast<std::uint8_t>(SocketKind::kTagged) == wire::kTaggedKind);
static_assert(wire::kTaggedHelloBytes <= kHelloBytesMax && wire::kRejectSizesBytes <= kHelloBytesMax);

}  // namespace

Hello make_hello(const Wishes& wishes) {
  Hello hello;
  const wire::HelloFields fields = fields_of(wishes);
  hello.length_bytes = wire::kHelloBytes;
  wire::encode_hello(fields, std::span(hello.bytes).first<wire::kHelloBytes>());
  if (wishes.kind != SocketKind::kTagged) return hello;
  hello.length_bytes = wire::kTaggedHelloBytes;
  wire::encode_introduction(fields.introduction, std::span(hello.bytes).first<wire::kTaggedHelloBytes>());
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
  agreement.receive_credits_max =
      static_cast<std::uint16_t>(std::min<std::uint32_t>(wishes.receive_credits_max, UINT16_MAX));
  agreement.small_bytes = std::min(ours.small_bytes, peer.small_bytes);
  agreement.reads_out = std::min(ours.read_depth, peer.read_depth);
  agreement.reads_in = agreement.reads_out;
  if (wishes.kind == SocketKind::kTagged) {
    const Status status = check_introduction(wishes.introduction, peer.introduction);
    if (!status.ok()) return failure(status);
    agreement.tagged = agree_on_tagged(wishes.introduction, peer.introduction);
  }
  return agreement;
}

Hello make_rejection(int reason) {
  wire::RejectReason code = wire::RejectReason::kRefused;
  if (reason == EPROTONOSUPPORT) code = wire::RejectReason::kVersion;
  if (reason == EPROTOTYPE) code = wire::RejectReason::kKind;
  if (reason == EOPNOTSUPP) code = wire::RejectReason::kProvider;
  if (reason == EACCES) code = wire::RejectReason::kForeign;
  if (reason == EALREADY) code = wire::RejectReason::kCrossed;
  Hello hello;
  hello.length_bytes = wire::kRejectBytes;
  wire::encode_rejection(code, std::span(hello.bytes).first<wire::kRejectBytes>());
  return hello;
}

Hello make_rejection(Status why, const Wishes& ours, std::span<const std::byte> peer_hello) {
  if (why.error() != ERANGE) return make_rejection(why.error());
  const auto peer = wire::decode_hello(peer_hello);  // which logs one that is malformed
  if (!peer) return make_rejection(why.error());
  Hello hello;
  hello.length_bytes = wire::kRejectSizesBytes;
  wire::encode_rejection(wire::RejectReason::kJobSize, std::span(hello.bytes).first<wire::kRejectBytes>());
  wire::encode_job_sizes({.own = ours.introduction.job_size, .told = peer->introduction.job_size},
                         std::span(hello.bytes).first<wire::kRejectSizesBytes>());
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
  if (reason && *reason == wire::RejectReason::kForeign) return Status(EACCES);
  if (reason && *reason == wire::RejectReason::kCrossed) return Status(EALREADY);
  if (reason && *reason == wire::RejectReason::kJobSize) {
    const wire::JobSizes sizes = wire::decode_job_sizes(private_data);
    if (sizes.own == 0) return Status(ECONNREFUSED);
    return fault(LogLevel::kWarn, ERANGE, "it counts {} ranks in the job, and this process {}: {}", sizes.own,
                 sizes.told, kOneList);
  }
  return Status(ECONNREFUSED);
}

}  // namespace exs::proto
