// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/directory_wire.h"

#include "service/names/hash.h"

namespace exs::svc {
namespace {

constexpr std::uint32_t kDirectoryMagic = 0x45585344;  // "EXSD"
constexpr std::uint16_t kDirectoryVersion = 1;
constexpr std::size_t kHeadBytes = 4;
constexpr std::uint8_t kFenced = 1;

void write_body(Writer& to, const DirectoryMessage& message) {
  switch (message.type) {
    case DirectoryType::kGreeting:
      to.number(kDirectoryMagic);
      to.number(kDirectoryVersion);
      to.number(std::uint16_t{0});
      return to.raw(message.nonce);
    case DirectoryType::kClaim:
      to.number(message.number);
      to.raw(message.signature);
      return to.raw(message.record);
    case DirectoryType::kRenew:
    case DirectoryType::kRenewed: return to.number(message.number);
    case DirectoryType::kRecord:
    case DirectoryType::kOvertaken:
    case DirectoryType::kOutdated:
    case DirectoryType::kWanted: return to.raw(message.record);
    case DirectoryType::kRelease:
    case DirectoryType::kFind:
    case DirectoryType::kWatch:
    case DirectoryType::kUnwatch:
    case DirectoryType::kNobody:
    case DirectoryType::kHeld:
    case DirectoryType::kNoRoom:
    case DirectoryType::kWait: return to.raw(message.id);
  }
}

// Returns false if the type is unknown.
bool read_body(Reader& from, DirectoryMessage& message) {
  switch (message.type) {
    case DirectoryType::kGreeting: {
      const bool is_known = from.number<std::uint32_t>() == kDirectoryMagic &&
                            from.number<std::uint16_t>() == kDirectoryVersion &&
                            from.number<std::uint16_t>() == 0;
      message.nonce = from.array<32>();
      return is_known;
    }
    case DirectoryType::kClaim:
      message.number = from.number<std::uint32_t>();
      message.signature = from.array<64>();
      message.record = from.raw(from.left_bytes());
      return message.number >= 1 && message.number <= kLeaseMaxMs;
    case DirectoryType::kRenew:
    case DirectoryType::kRenewed: message.number = from.number<std::uint32_t>(); return true;
    case DirectoryType::kRecord:
    case DirectoryType::kOvertaken:
    case DirectoryType::kOutdated:
    case DirectoryType::kWanted: message.record = from.raw(from.left_bytes()); return true;
    case DirectoryType::kRelease:
    case DirectoryType::kFind:
    case DirectoryType::kWatch:
    case DirectoryType::kUnwatch:
    case DirectoryType::kNobody:
    case DirectoryType::kHeld:
    case DirectoryType::kNoRoom:
    case DirectoryType::kWait: message.id = from.array<16>(); return true;
  }
  return false;
}

}  // namespace

void append_directory(std::vector<std::uint8_t>& to, const DirectoryMessage& message) {
  std::array<std::uint8_t, kDirectoryMessageMax> bytes;
  Writer body(std::span<std::uint8_t>(bytes).subspan(kHeadBytes));
  write_body(body, message);
  const std::size_t whole = kHeadBytes + body.written_bytes();
  Writer head(bytes);
  head.number(static_cast<std::uint16_t>(whole));
  head.number(static_cast<std::uint8_t>(message.type));
  head.number(message.is_fenced ? kFenced : std::uint8_t{0});
  to.insert(to.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole));
}

std::optional<std::size_t> directory_message_bytes(Bytes stream) {
  Reader reader(stream);
  const auto whole = reader.number<std::uint16_t>();
  if (!reader.good()) return 0;
  if (whole < kHeadBytes || whole > kDirectoryMessageMax) return {};
  return whole <= stream.size() ? whole : 0;
}

std::optional<DirectoryMessage> decode_directory(Bytes bytes) {
  Reader reader(bytes);
  DirectoryMessage message;
  const auto whole = reader.number<std::uint16_t>();
  message.type = static_cast<DirectoryType>(reader.number<std::uint8_t>());
  const auto flags = reader.number<std::uint8_t>();
  message.is_fenced = flags == kFenced && message.type == DirectoryType::kClaim;
  if (!reader.good() || whole != bytes.size() || whole > kDirectoryMessageMax ||
      flags != (message.is_fenced ? kFenced : 0))
    return {};
  if (!read_body(reader, message) || !reader.ended()) return {};
  return message;
}

Statement claim_statement(const Nonce& directorys, Bytes record) {
  return Hash<32>("exs-svc claim").add(directorys).add(record).end();
}

}  // namespace exs::svc
