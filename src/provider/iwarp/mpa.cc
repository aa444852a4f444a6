// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/mpa.h"

#include <algorithm>
#include <cstring>

#include "base/bytes.h"
#include "base/check.h"
#include "src/log/log.h"
#include "src/provider/software_iwarp.h"

namespace exs::iwarp {
namespace {

constexpr char kRequestKey[] = "MPA ID Req Frame";
constexpr char kReplyKey[] = "MPA ID Rep Frame";
constexpr std::size_t kEnhancedBytes = 4;
constexpr std::uint8_t kMarkers = 0x80;
constexpr std::uint8_t kCrc = 0x40;
constexpr std::uint8_t kReject = 0x20;
constexpr std::uint8_t kEnhanced = 0x10;
constexpr std::uint16_t kHighFlag = 0x8000;  // A in the IRD field, C in the ORD field
constexpr std::uint16_t kLowFlag = 0x4000;   // B and D
constexpr std::uint16_t kDepthMask = 0x3FFF;
constexpr std::uint8_t kRevisionMax = 2;

const char* key_of(MpaRole role) {
  return role == MpaRole::kRequest ? kRequestKey : kReplyKey;
}

}  // namespace

MpaBytes encode_mpa(const MpaFrame& frame) {
  MpaBytes out;
  std::byte* const start = out.bytes.data();
  std::memcpy(start, key_of(frame.role), kMpaKeyBytes);
  start[16] = static_cast<std::byte>((frame.markers ? kMarkers : 0) | (frame.crc ? kCrc : 0) |
                                     (frame.rejected ? kReject : 0) | (frame.enhanced ? kEnhanced : 0));
  start[17] = static_cast<std::byte>(frame.revision);
  std::size_t at = kMpaHeaderBytes;
  if (frame.enhanced) {
    const std::uint32_t ird = (frame.peer_to_peer ? kHighFlag : 0U) | (frame.inbound_reads & kDepthMask);
    const std::uint32_t ord = (frame.ready_by_write ? kHighFlag : 0U) |
                              (frame.ready_by_read ? kLowFlag : 0U) | (frame.outbound_reads & kDepthMask);
    store_be(start + at, static_cast<std::uint16_t>(ird));
    store_be(start + at + 2, static_cast<std::uint16_t>(ord));
    at += kEnhancedBytes;
  }
  if (frame.is_exs) {
    std::copy(kSoftwareIwarpMark.begin(), kSoftwareIwarpMark.end(), start + at);
    at += kSoftwareIwarpMark.size();
  }
  EXS_CHECK(at + frame.private_data.size() <= out.bytes.size());
  if (!frame.private_data.empty())
    std::memcpy(start + at, frame.private_data.data(), frame.private_data.size());
  at += frame.private_data.size();
  store_be(start + 18, static_cast<std::uint16_t>(at - kMpaHeaderBytes));
  out.length = at;
  return out;
}

MpaCollector::Progress MpaCollector::filled(std::size_t bytes) noexcept {
  collected_ += bytes;
  const std::size_t key_bytes = std::min(collected_, kMpaKeyBytes);
  if (std::memcmp(bytes_.data(), key_of(expected_), key_bytes) != 0) return bad("wrong key");
  if (collected_ < kMpaHeaderBytes) return Progress::kMore;
  const auto flags = static_cast<std::uint8_t>(bytes_[16]);
  const auto revision = static_cast<std::uint8_t>(bytes_[17]);
  const auto private_bytes = load_be<std::uint16_t>(bytes_.data() + 18);
  if (revision == 0 || revision > kRevisionMax) return bad("unknown revision");
  if (private_bytes > kMpaPrivateMax) return bad("private data too long");
  if (revision == kRevisionMax && (flags & kEnhanced) != 0 && private_bytes < kEnhancedBytes) {
    return bad("no room for IRD and ORD");
  }
  if (collected_ < kMpaHeaderBytes + private_bytes) return Progress::kMore;
  if (collected_ > kMpaHeaderBytes + private_bytes) return bad("bytes follow the frame");
  return Progress::kComplete;
}

std::string MpaCollector::beginning() const {
  std::string text;
  for (const std::byte byte : std::span(bytes_).first(std::min(collected_, kMpaKeyBytes))) {
    const auto letter = static_cast<char>(byte);
    if (letter < ' ' || letter > '~') break;
    text += letter;
  }
  return text;
}

MpaFrame MpaCollector::frame() const noexcept {
  const auto flags = static_cast<std::uint8_t>(bytes_[16]);
  MpaFrame frame;
  frame.role = expected_;
  frame.revision = static_cast<std::uint8_t>(bytes_[17]);
  frame.markers = (flags & kMarkers) != 0;
  frame.crc = (flags & kCrc) != 0;
  frame.rejected = expected_ == MpaRole::kReply && (flags & kReject) != 0;
  frame.enhanced = frame.revision == kRevisionMax && (flags & kEnhanced) != 0;
  std::span<const std::byte> rest(bytes_);
  rest = rest.subspan(kMpaHeaderBytes, load_be<std::uint16_t>(bytes_.data() + 18));
  if (frame.enhanced) {
    const auto ird = load_be<std::uint16_t>(rest.data());
    const auto ord = load_be<std::uint16_t>(rest.data() + 2);
    frame.inbound_reads = ird & kDepthMask;
    frame.outbound_reads = ord & kDepthMask;
    frame.peer_to_peer = (ird & kHighFlag) != 0;
    frame.ready_by_write = (ord & kHighFlag) != 0;
    frame.ready_by_read = (ord & kLowFlag) != 0;
    rest = rest.subspan(kEnhancedBytes);
  } else {
    // Revision 1 says nothing: one read each way is what such peers can be trusted with.
    frame.inbound_reads = 1;
    frame.outbound_reads = 1;
  }
  frame.is_exs = has_software_iwarp_mark(rest);
  frame.private_data = without_software_iwarp_mark(rest);
  return frame;
}

MpaFrame reply_to(const MpaFrame& request, bool want_crc, std::uint32_t reads_in, std::uint32_t reads_out) {
  MpaFrame reply;
  reply.role = MpaRole::kReply;
  reply.revision = request.revision;  // a revision 1 peer does not understand a revision 2 answer
  reply.enhanced = request.enhanced;
  reply.crc = request.crc || want_crc;
  reply.inbound_reads = static_cast<std::uint16_t>(reads_in);
  reply.outbound_reads =
      static_cast<std::uint16_t>(std::min<std::uint32_t>(reads_out, request.inbound_reads));
  // Of the signals a peer-to-peer initiator offers, exactly one is taken.
  reply.ready_by_write = request.peer_to_peer && request.ready_by_write;
  reply.ready_by_read = request.peer_to_peer && !reply.ready_by_write && request.ready_by_read;
  reply.peer_to_peer = reply.ready_by_write || reply.ready_by_read;
  reply.is_exs = request.is_exs;
  return reply;
}

MpaFrame rejection_of(const MpaFrame& request) {
  MpaFrame reply = reply_to(request, false, 0, 0);
  reply.crc = false;
  reply.rejected = true;
  return reply;
}

}  // namespace exs::iwarp
