// What is said between a process and a directory, over TCP: FORMAT.md in code. Layout only. Decoders take bytes of strangers.
// Thread: any.
#pragma once

#include <optional>
#include <vector>

#include "service/names/key.h"
#include "service/names/record.h"

namespace exs::svc {

enum class DirectoryType : std::uint8_t {
  kGreeting = 1,  // both, first: nonce
  kClaim = 2,     // lease_ms, signature, record; is_fenced
  kRenew = 3,     // number
  kRelease = 4,   // id
  kFind = 5,      // id
  kWatch = 6,     // id
  kUnwatch = 7,   // id
  // of the directory
  kRecord = 8,      // record
  kNobody = 9,      // id
  kHeld = 10,       // id
  kOvertaken = 11,  // record, which is newer than the one claimed, and held
  kOutdated = 12,   // record, which is newer than the one claimed, and was held
  kNoRoom = 13,     // id
  kRenewed = 14,    // number
  kWait = 15,       // id
  kWanted = 16      // record, which is newer than the one held
};

struct DirectoryMessage {
  DirectoryType type = DirectoryType::kGreeting;
  Nonce nonce{};
  IdBytes id{};
  bool is_fenced = false;
  std::uint32_t number = 0;  // lease_ms too
  Signature signature{};
  Bytes record{};  // of who has decoded it
};

inline constexpr std::uint16_t kDirectoryPort = 17752;
inline constexpr std::size_t kDirectoryMessageMax = 4 + 4 + 64 + kRecordMax;
inline constexpr std::uint32_t kLeaseMaxMs = 60'000;

// Behind what is there.
void append_directory(std::vector<std::uint8_t>& to, const DirectoryMessage& message);
// Bytes of the first message, or 0: they are not here yet. None: it is none.
std::optional<std::size_t> directory_message_bytes(Bytes stream);
// Of one message.
std::optional<DirectoryMessage> decode_directory(Bytes bytes);

// What a claim signs: that this record is to be held for this connection.
Statement claim_statement(const Nonce& directorys, Bytes record);

}  // namespace exs::svc
