// The data that moves with a service: FORMAT.md's handover in code. Layout only. The sender has the service's key; its bytes are checked
// all the same.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <vector>

#include "service/wire/frames.h"

namespace exs::svc {

// The two requests to an adopter.
enum class HandoverStep : std::uint8_t {
  kPrepare = 1,  // take this, and be ready
  kCommit = 2    // become the service
};
// The status of the answers.
enum class HandoverStatus : std::int32_t {
  kDone = 0,
  kNotUnderstood = 1,
  kNoMemory = 2,
  kNameTaken = 3,  // another process is the service on that host
  kUnprepared = 4  // no PREPARE came before the COMMIT
};

struct HandoverHead {
  HandoverStep step = HandoverStep::kPrepare;
  std::uint64_t token = 0;     // of one move
  std::uint64_t instance = 0;  // of the service; the move does not change it
  std::uint64_t epoch = 0;     // of its last record
};
inline constexpr std::size_t kHandoverHeadBytes = 4 + 1 + 3 * 8;
std::array<std::uint8_t, kHandoverHeadBytes> encode_handover_head(const HandoverHead& head);
std::optional<HandoverHead> decode_handover_head(Bytes bytes);

inline constexpr std::size_t kMovedMost = 64;  // replies, and requests, of a flow
struct MovedFlow {
  std::uint64_t client = 0;
  std::uint64_t flow_number = 0;
  IdBytes from{};
  std::uint64_t accepted = 0;
  std::vector<std::uint64_t> calls;  // requests without an answer
  std::uint64_t first_reply = 1;     // number of the first of these
  std::vector<Bytes> replies;        // unaccepted DATA frames, without long items
};
// A message that the program has not taken.
struct MovedMessage {
  IdBytes from{};
  bool is_request = false;
  std::uint64_t client = 0;  // of a request: its flow, number and limit
  std::uint64_t flow_number = 0;
  std::uint64_t call = 0;
  std::int64_t limit_ns = 0;
  Items items;
  std::vector<Bytes> longs;
};
struct Handover {
  std::vector<MovedFlow> flows;
  std::vector<MovedMessage> messages;
};
std::vector<std::uint8_t> encode_handover(const Handover& handover);
// The result points into `bytes`.
std::optional<Handover> decode_handover(Bytes bytes);

}  // namespace exs::svc
