// Messages between a process and a directory, over TCP: FORMAT.md in code. Layout only. Decoders take untrusted bytes. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "service/names/key.h"
#include "service/names/record.h"

namespace exs::svc {

enum class DirectoryType : std::uint8_t {
  kGreeting = 1,  // from both, first: nonce
  kClaim = 2,     // lease_ms, signature, record; is_fenced
  kRenew = 3,     // number
  kRelease = 4,   // id
  kFind = 5,      // id
  kWatch = 6,     // id
  kUnwatch = 7,   // id
  // Sent by the directory.
  kRecord = 8,      // record
  kNobody = 9,      // id
  kHeld = 10,       // id
  kOvertaken = 11,  // record: newer than the claimed one, and held
  kOutdated = 12,   // record: newer than the claimed one, and was held
  kNoRoom = 13,     // id
  kRenewed = 14,    // number
  kWait = 15,       // id
  kWanted = 16      // record: newer than the held one
};

struct DirectoryMessage {
  DirectoryType type = DirectoryType::kGreeting;
  Nonce nonce{};
  IdBytes id{};
  bool is_fenced = false;
  std::uint32_t number = 0;  // also lease_ms
  Signature signature{};
  Bytes record{};  // points into the decoder's input
};

inline constexpr std::uint16_t kDirectoryPort = 17752;
inline constexpr std::size_t kDirectoryMessageMax = 4 + 4 + 64 + kRecordMax;
inline constexpr std::uint32_t kLeaseMaxMs = 60'000;

// Appends the encoded message.
void append_directory(std::vector<std::uint8_t>& to, const DirectoryMessage& message);
// Returns the length of the first message. 0: more bytes are needed. Empty: the stream is invalid.
std::optional<std::size_t> directory_message_bytes(Bytes stream);
// Takes exactly one message.
std::optional<DirectoryMessage> decode_directory(Bytes bytes);

// The statement that a claim signs: this connection holds the name for this record.
Statement claim_statement(const Nonce& directorys, Bytes record);

}  // namespace exs::svc
