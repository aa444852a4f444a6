// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/fpdu.h"

#include "base/bytes.h"

namespace exs::iwarp {
namespace {

constexpr std::uint8_t kTaggedBit = 0x80;
constexpr std::uint8_t kLastBit = 0x40;
constexpr std::uint8_t kDdpVersionMask = 0x03;
constexpr std::uint8_t kDdpVersion = 0x01;
constexpr std::uint8_t kRdmapVersionShift = 6;
constexpr std::uint8_t kRdmapVersion = 0x40;
constexpr std::uint8_t kOpcodeMask = 0x0F;

void store_controls(std::byte* fpdu, std::size_t ulpdu_bytes, bool tagged, bool last, Opcode opcode) {
  store_be(fpdu, static_cast<std::uint16_t>(ulpdu_bytes));
  fpdu[2] = static_cast<std::byte>((tagged ? kTaggedBit : 0) | (last ? kLastBit : 0) | kDdpVersion);
  fpdu[3] = static_cast<std::byte>(kRdmapVersion | static_cast<std::uint8_t>(opcode));
}

}  // namespace

bool opcode_is_tagged(Opcode opcode) {
  return opcode == Opcode::kWrite || opcode == Opcode::kReadResponse;
}

std::size_t header_bytes(Opcode opcode) {
  if (opcode_is_tagged(opcode)) return kTaggedHeaderBytes;
  return opcode == Opcode::kReadRequest ? kReadRequestBytes : kUntaggedHeaderBytes;
}

bool is_last_send(const std::byte* fpdu) {
  constexpr auto kDdp = std::byte{kLastBit | kDdpVersion};
  constexpr auto kRdmap = std::byte{kRdmapVersion | static_cast<std::uint8_t>(Opcode::kSend)};
  constexpr std::uint16_t kLeast = kUntaggedHeaderBytes - kLengthFieldBytes;
  return fpdu[2] == kDdp && fpdu[3] == kRdmap && load_be<std::uint16_t>(fpdu) >= kLeast;
}

Controls load_controls(const std::byte* fpdu) {
  const auto ddp = static_cast<std::uint8_t>(fpdu[2]);
  const auto rdmap = static_cast<std::uint8_t>(fpdu[3]);
  Controls controls;
  controls.ulpdu_bytes = load_be<std::uint16_t>(fpdu);
  controls.tagged = (ddp & kTaggedBit) != 0;
  controls.last = (ddp & kLastBit) != 0;
  controls.ddp_version = ddp & kDdpVersionMask;
  controls.rdmap_version = static_cast<std::uint8_t>(rdmap >> kRdmapVersionShift);
  controls.opcode = rdmap & kOpcodeMask;
  return controls;
}

TaggedHeader load_tagged(const std::byte* fpdu) {
  const Controls controls = load_controls(fpdu);
  TaggedHeader header;
  header.opcode = static_cast<Opcode>(controls.opcode);
  header.last = controls.last;
  header.stag = load_be<std::uint32_t>(fpdu + 4);
  header.offset = load_be<std::uint64_t>(fpdu + 8);
  header.payload_bytes =
      static_cast<std::uint32_t>(controls.ulpdu_bytes + kLengthFieldBytes - kTaggedHeaderBytes);
  return header;
}

UntaggedHeader load_untagged(const std::byte* fpdu) {
  const Controls controls = load_controls(fpdu);
  UntaggedHeader header;
  header.opcode = static_cast<Opcode>(controls.opcode);
  header.last = controls.last;
  header.invalidate_stag = load_be<std::uint32_t>(fpdu + 4);
  header.queue = load_be<std::uint32_t>(fpdu + 8);
  header.message = load_be<std::uint32_t>(fpdu + 12);
  header.message_offset = load_be<std::uint32_t>(fpdu + 16);
  header.payload_bytes =
      static_cast<std::uint32_t>(controls.ulpdu_bytes + kLengthFieldBytes - kUntaggedHeaderBytes);
  return header;
}

ReadRequest load_read_request(const std::byte* fpdu) {
  ReadRequest request;
  request.sink_stag = load_be<std::uint32_t>(fpdu + 20);
  request.sink_offset = load_be<std::uint64_t>(fpdu + 24);
  request.length_bytes = load_be<std::uint32_t>(fpdu + 32);
  request.source_stag = load_be<std::uint32_t>(fpdu + 36);
  request.source_offset = load_be<std::uint64_t>(fpdu + 40);
  return request;
}

void store_tagged(std::byte* fpdu, const TaggedHeader& header) {
  const std::size_t ulpdu_bytes = kTaggedHeaderBytes - kLengthFieldBytes + header.payload_bytes;
  store_controls(fpdu, ulpdu_bytes, true, header.last, header.opcode);
  store_be(fpdu + 4, header.stag);
  store_be(fpdu + 8, header.offset);
}

void store_untagged(std::byte* fpdu, const UntaggedHeader& header) {
  const std::size_t ulpdu_bytes = kUntaggedHeaderBytes - kLengthFieldBytes + header.payload_bytes;
  store_controls(fpdu, ulpdu_bytes, false, header.last, header.opcode);
  store_be(fpdu + 4, header.invalidate_stag);
  store_be(fpdu + 8, header.queue);
  store_be(fpdu + 12, header.message);
  store_be(fpdu + 16, header.message_offset);
}

void store_read_request(std::byte* fpdu, std::uint32_t message, const ReadRequest& request) {
  UntaggedHeader header;
  header.opcode = Opcode::kReadRequest;
  header.last = true;
  header.queue = kReadRequestQueue;
  header.message = message;
  header.payload_bytes = kReadRequestBytes - kUntaggedHeaderBytes;
  store_untagged(fpdu, header);
  store_be(fpdu + 20, request.sink_stag);
  store_be(fpdu + 24, request.sink_offset);
  store_be(fpdu + 32, request.length_bytes);
  store_be(fpdu + 36, request.source_stag);
  store_be(fpdu + 40, request.source_offset);
}

}  // namespace exs::iwarp
