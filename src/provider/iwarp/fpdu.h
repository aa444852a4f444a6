// The layout of one FPDU: MPA length, DDP and RDMAP headers, pad and CRC (RFC 5044, 5041, 5040). No state.
//
//   0  u16 length of the ULPDU (headers behind this field + payload)   2  u8 DDP control   3  u8 RDMAP control
//   tagged   (16 bytes):  4 u32 STag              8 u64 TO
//   untagged (20 bytes):  4 u32 invalidate STag   8 u32 QN   12 u32 MSN   16 u32 MO
//   read request (48):    untagged, then 20 u32 sink STag   24 u64 sink TO   32 u32 size
//                         36 u32 source STag   40 u64 source TO
//   then payload, pad to a multiple of 4, CRC32c (always present, zero when CRC is off).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace exs::iwarp {

enum class Opcode : std::uint8_t {
  kWrite = 0,
  kReadRequest = 1,
  kReadResponse = 2,
  kSend = 3,
  kSendInvalidate = 4,
  kSendSolicited = 5,
  kSendSolicitedInvalidate = 6,
  kTerminate = 7,
};
inline constexpr std::uint8_t kOpcodeMax = 7;

inline constexpr std::size_t kControlBytes = 4;  // length and both control bytes: enough to know the header
inline constexpr std::size_t kTaggedHeaderBytes = 16;
inline constexpr std::size_t kUntaggedHeaderBytes = 20;
inline constexpr std::size_t kReadRequestBytes = 48;
inline constexpr std::size_t kHeaderBytesMax = kReadRequestBytes;
inline constexpr std::size_t kCrcBytes = 4;
inline constexpr std::size_t kTrailerBytesMax = 3 + kCrcBytes;
inline constexpr std::size_t kLengthFieldBytes = 2;

// A multiple of 64, so that full FPDUs need no pad and leave the next header aligned.
inline constexpr std::uint32_t kPayloadMax = 65472;

inline constexpr std::uint32_t kSendQueue = 0;
inline constexpr std::uint32_t kReadRequestQueue = 1;
inline constexpr std::uint32_t kTerminateQueue = 2;
inline constexpr std::uint32_t kQueues = 3;

// The two control bytes, as far as they can be judged alone.
struct Controls {
  std::uint16_t ulpdu_bytes = 0;
  bool tagged = false;
  bool last = false;
  std::uint8_t ddp_version = 0;
  std::uint8_t rdmap_version = 0;
  std::uint8_t opcode = 0;  // may be more than kOpcodeMax
};

struct TaggedHeader {
  Opcode opcode = Opcode::kWrite;
  bool last = false;
  std::uint32_t stag = 0;
  std::uint64_t offset = 0;
  std::uint32_t payload_bytes = 0;
};

struct UntaggedHeader {
  Opcode opcode = Opcode::kSend;
  bool last = false;
  std::uint32_t invalidate_stag = 0;
  std::uint32_t queue = 0;
  std::uint32_t message = 0;  // MSN
  std::uint32_t message_offset = 0;
  std::uint32_t payload_bytes = 0;
};

struct ReadRequest {
  std::uint32_t sink_stag = 0;
  std::uint64_t sink_offset = 0;
  std::uint32_t length_bytes = 0;
  std::uint32_t source_stag = 0;
  std::uint64_t source_offset = 0;
};

// Pad and CRC behind a header of `header_bytes` (length field included) and its payload.
constexpr std::size_t pad_bytes(std::size_t header_and_payload_bytes) {
  return (0 - header_and_payload_bytes) & 3;
}
constexpr std::size_t trailer_bytes(std::size_t header_and_payload_bytes) {
  return pad_bytes(header_and_payload_bytes) + kCrcBytes;
}

bool opcode_is_tagged(Opcode opcode);
std::size_t header_bytes(Opcode opcode);

// The head of a SEND's only or last FPDU, of the versions that are ours, and long enough for its header.
[[nodiscard]] bool is_last_send(const std::byte* fpdu);
Controls load_controls(const std::byte* fpdu);
TaggedHeader load_tagged(const std::byte* fpdu);
UntaggedHeader load_untagged(const std::byte* fpdu);
ReadRequest load_read_request(const std::byte* fpdu);

void store_tagged(std::byte* fpdu, const TaggedHeader& header);
void store_untagged(std::byte* fpdu, const UntaggedHeader& header);
// The whole 48 bytes; `message` is the MSN on queue 1.
void store_read_request(std::byte* fpdu, std::uint32_t message, const ReadRequest& request);

}  // namespace exs::iwarp
