// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/terminate.h"

#include <cstring>

#include "src/provider/iwarp/crc32c.h"

namespace exs::iwarp {
namespace {

constexpr std::uint8_t kSegmentLengthValid = 0x80;
constexpr std::uint8_t kDdpHeaderIncluded = 0x40;
constexpr std::uint8_t kRdmapHeaderIncluded = 0x20;

}  // namespace

TerminateFrame make_terminate(TerminateCode code, std::span<const std::byte> offending, bool with_crc) {
  TerminateFrame frame;
  std::byte* const body = frame.bytes.data() + kUntaggedHeaderBytes;
  std::uint8_t included = 0;
  std::size_t body_bytes = kTerminateWordBytes;
  if (!offending.empty()) {
    included = kSegmentLengthValid | kDdpHeaderIncluded;
    if (offending.size() == kReadRequestBytes) included |= kRdmapHeaderIncluded;
    // The FPDU's own length field is exactly the "DDP segment length" that precedes the copied header.
    std::memcpy(body + kTerminateWordBytes, offending.data(), offending.size());
    body_bytes += offending.size();
  }
  body[0] = static_cast<std::byte>(code.layer << 4 | code.type);
  body[1] = static_cast<std::byte>(code.code);
  body[2] = static_cast<std::byte>(included);
  body[3] = std::byte{0};

  UntaggedHeader header;
  header.opcode = Opcode::kTerminate;
  header.last = true;
  header.queue = kTerminateQueue;
  header.message = 1;
  header.payload_bytes = static_cast<std::uint32_t>(body_bytes);
  store_untagged(frame.bytes.data(), header);

  const std::size_t covered = kUntaggedHeaderBytes + body_bytes;
  const std::size_t padded = covered + pad_bytes(covered);
  std::memset(frame.bytes.data() + covered, 0, padded - covered + kCrcBytes);
  if (with_crc) {
    store_crc(frame.bytes.data() + padded, crc_add(kCrcStart, {frame.bytes.data(), padded}));
  }
  frame.length = padded + kCrcBytes;
  return frame;
}

}  // namespace exs::iwarp
