// Bytes to messages and back. Layout only: whether a message is allowed at this point is for src/proto to
// say. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/bytes.h"
#include "base/status.h"
#include "src/wire/messages.h"

namespace exs::wire {

using FixedBytes = std::array<std::byte, kLongestFixedBytes>;

// Writes the fixed part of `message` (all of it but a payload and a list of windows) to the start
// of `into`; returns the bytes written.
std::span<const std::byte> encode(const Message& message, FixedBytes& into);

// EPROTO, with a log line: too short, too long, unknown type or status, a field set that must be zero, flags
// that do not go together, a window that wraps around the address space, a list with empty windows or more
// than 2^64 bytes.
Result<Message> decode(std::span<const std::byte> bytes);

// A header as one word, most significant byte first.
inline constexpr int kWordCreditsShift = 8 * (kHeaderBytes - kCreditsOffset - sizeof(std::uint16_t));
inline constexpr std::uint64_t kWordTypeAndFlags = ~std::uint64_t{0} << 8 * (kHeaderBytes - kFlagsOffset - 1);
inline constexpr std::uint64_t word_of(MessageType type, std::uint8_t flags) noexcept {
  return std::uint64_t{static_cast<std::uint8_t>(type)} << 8 * (kHeaderBytes - kTypeOffset - 1) |
         std::uint64_t{flags} << 8 * (kHeaderBytes - kFlagsOffset - 1);
}
inline constexpr std::uint64_t kImmediateWord = word_of(MessageType::kImmediate, 0);
static_assert(kHeaderBytes == sizeof(std::uint64_t) &&
              kSequenceOffset + sizeof(std::uint32_t) == kHeaderBytes);

// encode() and decode() of an immediate's header alone, in one word, for the path that every short message takes.
inline std::array<std::byte, kHeaderBytes> encode_immediate(std::uint16_t credits,
                                                            std::uint32_t sequence) noexcept {
  const std::uint64_t word = kImmediateWord | std::uint64_t{credits} << kWordCreditsShift | sequence;
  return std::bit_cast<std::array<std::byte, kHeaderBytes>>(to_network_order(word));
}

// False: it is no such message, or malformed.
inline bool decode_immediate(std::span<const std::byte, kHeaderBytes> bytes, Header& header) noexcept {
  const auto word = load_be<std::uint64_t>(bytes.data());
  if ((word & kWordTypeAndFlags) != kImmediateWord) return false;
  header.type = MessageType::kImmediate;
  header.flags = 0;
  header.credits = static_cast<std::uint16_t>(word >> kWordCreditsShift);
  header.sequence = static_cast<std::uint32_t>(word);
  return true;
}

// The fixed part of a kTagged message.
struct TaggedHead {
  Header header;
  Label label;

  [[nodiscard]] bool has_data() const noexcept { return (header.flags & kWithData) != 0; }
  [[nodiscard]] std::size_t fixed_bytes() const noexcept {
    return has_data() ? kTaggedWithDataBytes : kTaggedBytes;
  }
};
static_assert(kLabelBitsOffset == 8 && kLabelReturnedOffset == 16 && kLabelIdOffset == 20 &&
                  kLabelDataOffset == 24,
              "a word each, returned bytes and id in one");
using TaggedBytes = std::array<std::byte, kTaggedWithDataBytes>;

// encode() and decode() of a kTagged alone, likewise.
inline std::span<const std::byte> encode_tagged(const TaggedHead& head, TaggedBytes& into) noexcept {
  store_be(into.data(), word_of(MessageType::kTagged, head.header.flags) |
                            std::uint64_t{head.header.credits} << kWordCreditsShift | head.header.sequence);
  store_be(into.data() + kLabelBitsOffset, head.label.bits);
  store_be(into.data() + kLabelReturnedOffset,
           std::uint64_t{head.label.returned_bytes} << 32U | head.label.id);
  store_be(into.data() + kLabelDataOffset, head.label.data);
  return {into.data(), head.fixed_bytes()};
}

// `bytes` begin the message. They are all of it, or enough for any fixed part. False: it is of another type, or malformed.
inline bool decode_tagged(std::span<const std::byte> bytes, TaggedHead& head) noexcept {
  constexpr std::uint64_t kLegal = word_of(MessageType{0}, kSynchronous | kWithData);
  if (bytes.size() < kTaggedBytes) return false;
  const std::byte* const from = bytes.data();
  const auto word = load_be<std::uint64_t>(from);
  if ((word & kWordTypeAndFlags & ~kLegal) != word_of(MessageType::kTagged, 0)) return false;
  head.header = {MessageType::kTagged,
                 static_cast<std::uint8_t>(word >> 8 * (kHeaderBytes - kFlagsOffset - 1)),
                 static_cast<std::uint16_t>(word >> kWordCreditsShift), static_cast<std::uint32_t>(word)};
  if (head.has_data() && bytes.size() < kTaggedWithDataBytes) return false;
  const auto returned_and_id = load_be<std::uint64_t>(from + kLabelReturnedOffset);
  head.label.bits = load_be<std::uint64_t>(from + kLabelBitsOffset);
  head.label.data = head.has_data() ? load_be<std::uint64_t>(from + kLabelDataOffset) : 0;
  head.label.returned_bytes = static_cast<std::uint32_t>(returned_and_id >> 32U);
  head.label.id = static_cast<std::uint32_t>(returned_and_id);
  return (head.label.id != 0) == ((head.header.flags & kSynchronous) != 0);  // an ID is for an ACK
}

// Bytes before the payload of an immediate or the list of an advert.
std::size_t fixed_bytes(const Header& header);
// The windows behind the first one of an advert with kList: `entry` of the bytes that follow the fixed part.
void encode_list_entry(const Advert& window, std::span<std::byte> list, std::size_t entry);
Advert list_entry(std::span<const std::byte> list, std::size_t entry);

void encode_hello(const HelloFields& fields, std::span<std::byte, kHelloBytes> into);
// The bytes after kTaggedKind; `into` begins with the hello.
void encode_introduction(const Introduction& introduction, std::span<std::byte, kTaggedHelloBytes> into);
// EPROTO: no magic, too short, version range upside down, credits or read depth zero. A hello that speaks
// no later version than ours must end in zeros; what follows the fields of a later one is not ours to judge.
Result<HelloFields> decode_hello(std::span<const std::byte> bytes);

void encode_rejection(RejectReason reason, std::span<std::byte, kRejectBytes> into);
// The bytes after kJobSize: the number of ranks that the refusing end counts, and the number that it
// received.
struct JobSizes {
  std::uint32_t own = 0;
  std::uint32_t told = 0;
};
void encode_job_sizes(const JobSizes& sizes, std::span<std::byte, kRejectSizesBytes> into);
// Zeros if they are missing.
JobSizes decode_job_sizes(std::span<const std::byte> bytes);
// EPROTO: no magic, too short or an unknown reason.
Result<RejectReason> decode_rejection(std::span<const std::byte> bytes);

}  // namespace exs::wire
