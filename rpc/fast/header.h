// The 16 bytes before a call and its reply (rpc/FORMAT.md).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace exs::rpc {

static_assert(std::endian::native == std::endian::little, "messages of exs-rpc have little-endian numbers");

// The slots that the low bits of a call's sequence can name.
inline constexpr std::uint32_t kSlotsMax = 64;

enum class CallMessage : std::uint8_t {
  kTable = 1,   // the client's procedures, and the server's verdict on each
  kCall = 2,    // arguments follow
  kReply = 3,   // a result follows if the status is kOk
  kCancel = 4,  // cancels the call with this sequence
  kWindow = 5,  // the client wants a window; the server's answer has a token, or nothing
};

// The outcome of a call, in its reply.
enum class ReplyStatus : std::uint16_t {
  kOk = 0,
  kFailed = 1,    // the procedure failed; its number follows, 4 bytes
  kOverdue = 2,   // not executed: its time limit had passed
  kNoMemory = 3,  // not executed
  kNoResult = 4,  // executed, but its result cannot be sent
  kBad = 5,       // never sent: the arguments are invalid
};

struct CallHeader {
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;     // of the bytes that follow
  std::uint16_t procedure = 0;  // of a call: its place in the client's table; of a reply: its status
  CallMessage kind = CallMessage::kTable;
  std::uint8_t is_timed = 0;  // of a call, 1: the reply has the server's time
  // A call has the microseconds until its limit here, or 0 without one. A timed reply has its time in the server.
  std::uint32_t micros = 0;
};
inline constexpr std::size_t kHeaderBytes = 16;
static_assert(sizeof(CallHeader) == kHeaderBytes);

inline void put_header(const CallHeader& header, std::byte* at) {
  std::memcpy(at, &header, sizeof header);
}
// Returns false if the message is invalid.
[[nodiscard]] inline bool get_header(std::span<const std::byte> message, CallHeader& header) {
  if (message.size() < kHeaderBytes) return false;
  std::memcpy(&header, message.data(), sizeof header);
  return header.length == message.size() - kHeaderBytes && header.is_timed <= 1 &&
         header.kind >= CallMessage::kTable && header.kind <= CallMessage::kWindow;
}

}  // namespace exs::rpc
