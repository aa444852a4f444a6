// The 16 bytes before a call and its reply (rpc/FORMAT.md).
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace exs::rpc {

static_assert(std::endian::native == std::endian::little, "messages of exs-rpc have little-endian numbers");

// Of the sequence of a call, the bits for its slot.
inline constexpr std::uint32_t kSlotsMax = 64;

enum class Kind : std::uint8_t {
  kTable = 1,   // the client's procedures, and what the server says to each
  kCall = 2,    // arguments follow
  kReply = 3,   // a result follows if all is well
  kCancel = 4,  // of the call with this sequence
  kWindow = 5,  // the client wants one; the server's answer has a token, or nothing
};

// Of a reply.
enum class Status : std::uint16_t {
  kOk = 0,
  kFailed = 1,    // the procedure; its number follows, 4 bytes
  kOverdue = 2,   // not executed: the client has given up
  kNoMemory = 3,  // not executed
  kNoResult = 4,  // executed, and its result cannot be sent
  kBad = 5,       // never sent: the arguments are none
};

struct Header {
  std::uint32_t sequence = 0;
  std::uint32_t length = 0;     // of what follows
  std::uint16_t procedure = 0;  // of a call: its place in the client's table; of a reply: Status
  Kind kind = Kind::kTable;
  std::uint8_t is_timed = 0;  // of a call, 1: its reply tells the time
  std::uint32_t micros =
      0;  // of a call: until the client gives up, 0: never; of a timed reply: in the server
};
inline constexpr std::size_t kHeaderBytes = 16;
static_assert(sizeof(Header) == kHeaderBytes);

inline void put_header(const Header& header, std::byte* at) {
  std::memcpy(at, &header, sizeof header);
}
// False: the message is none.
inline bool get_header(std::span<const std::byte> message, Header& header) {
  if (message.size() < kHeaderBytes) return false;
  std::memcpy(&header, message.data(), sizeof header);
  return header.length == message.size() - kHeaderBytes && header.is_timed <= 1 &&
         header.kind >= Kind::kTable && header.kind <= Kind::kWindow;
}

}  // namespace exs::rpc
