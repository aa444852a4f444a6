// The input and output of the protocol engine: one Operation in, one Outcome out, to an OutcomeSink.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "base/stats_page.h"
#include "src/provider/provider.h"
#include "src/wire/messages.h"

namespace exs {

class Attachment;
class EventQueue;
class Region;

namespace proto {

// Data of the poster, returned with the outcome. The engine never looks at it, except at the handle, which a
// cancel may name.
struct OperationTag {
  EventQueue* queue = nullptr;
  Region* region = nullptr;          // of operations with one piece of registered memory
  Attachment* attachment = nullptr;  // what other operations hold on to
  void* handle = nullptr;
  std::int32_t memory_handle = 0;
  std::uint8_t event_type = 0;  // 0: the plain one of the direction
  bool no_event = false;
  bool pooled = false;  // of a pooled receive, which gets the outcome in place of a queue
};

// The data of a tagged message beside its payload.
struct Label {
  std::uint64_t bits = 0;  // the bits for matching
  std::uint64_t data = 0;
  bool has_data = false;
  bool synchronous = false;  // the send ends when a receive has taken it
};

struct Operation {
  LocalSlice memory;  // owned by the engine until the outcome
  // Several slices, kept by the poster; `memory` then has the sum of their lengths.
  std::span<const LocalSlice> vector;
  std::uint64_t offset = 0;      // at_offset: in the peer's persistent memory
  std::uint64_t posted_ns = 0;   // the time, if a caller may ask; else 0
  bool never_immediate = false;  // sends: completion must mean that the data are in the peer's memory
  bool persistent = false;       // stays posted; the peer reads or writes it
  bool notify = false;           // persistent: report each use by the peer
  bool at_offset = false;        // reads or writes the peer's persistent memory at `offset`
  bool mappable = false;         // persistent receives: the peer may map the memory
  bool wait_all = false;         // receives of a stream: not before the memory is full
  bool is_short = false;         // receives: one piece of registered memory, no time limit, nothing attached
  bool more = false;             // sends: not before the next send without it, or flush()
  const Label* label = nullptr;  // sends of tagged messages; kept by the poster
  OperationTag tag;
};

enum class Direction : std::uint8_t { kSend, kReceive };

// The result of a post.
enum class PostState : std::uint8_t {
  kNoMemory,  // there is no memory for it, and nothing has changed
  kWaiting,   // for the peer, and nothing else has changed
  kStarted,   // or ended
};

// The result of a short send.
enum class ShortSend : std::uint8_t {
  kSent,
  kNoCredit,  // nothing has changed; a credit may have come already
  kNot,       // it must be posted, and nothing has changed
};

// Facts about a finished operation; a bit set.
enum OutcomeFlag : std::uint32_t {
  kTruncated = 1,    // the message was longer than the receive buffer
  kEndOfStream = 2,  // orderly end of the peer's sending direction
  kEndOfMessage = 4,
  kCopied = 8,      // a copy was made here
  kImmediate = 16,  // the data travelled in the message itself
};

struct Outcome {
  int error = 0;  // errno value
  std::uint64_t length_bytes = 0;
  std::uint32_t flags = 0;
  std::uint64_t whole_bytes = 0;  // kTruncated: of the message
};

// The outcome of an immediate send that has left.
[[nodiscard]] inline Outcome sent_immediate(const Operation& operation) noexcept {
  return {.error = 0, .length_bytes = operation.memory.length_bytes, .flags = kImmediate, .whole_bytes = 0};
}

// The outcome of a receive that an immediate of so many bytes went to.
[[nodiscard]] inline Outcome received_immediate(const Operation& receive,
                                                std::uint64_t payload_bytes) noexcept {
  const std::uint64_t taken = std::min<std::uint64_t>(payload_bytes, receive.memory.length_bytes);
  const bool is_truncated = taken < payload_bytes;
  return {.error = 0,
          .length_bytes = taken,
          .flags = kImmediate | kEndOfMessage | (taken > 0 ? kCopied : 0U) | (is_truncated ? kTruncated : 0U),
          .whole_bytes = is_truncated ? payload_bytes : 0};
}

// How the peer used a persistent operation since this was last reported.
using wire::Usage;

// The operations that a cancel names.
struct Selection {
  bool any_handle = true;
  void* handle = nullptr;
  // If set, spares operations posted later, persistent ones, and those without a post time.
  std::uint64_t posted_until_ns = UINT64_MAX;
  bool pooled = false;  // only operations of a pooled receive; else none of these

  [[nodiscard]] bool names(const void* other) const noexcept { return any_handle || other == handle; }
  [[nodiscard]] bool matches(const Operation& operation) const noexcept {
    if (!names(operation.tag.handle) || operation.tag.pooled != pooled) return false;
    if (posted_until_ns == UINT64_MAX) return true;
    return !operation.persistent && operation.posted_ns != 0 && operation.posted_ns <= posted_until_ns;
  }
};

struct Cancelled {
  std::uint32_t matched = 0;
  std::uint32_t begun = 0;  // of those: the peer has begun with them, so they end when it has ended them
  std::uint32_t asked = 0;  // of those: the peer is to say whether it has
};

// Receives the outcomes and events of one connection. Must not call back into it.
class OutcomeSink {
 public:
  virtual ~OutcomeSink() = default;
  virtual void completed(Direction direction, const Operation& operation, const Outcome& outcome) = 0;
  // The peer has used our persistent operation, which asked for notices. It stays posted.
  virtual void used(Direction direction, const Operation& operation, const Usage& usage) = 0;
  // Accepting side: the initiator's first message is here. Connecting side: ready as soon as started.
  virtual void ready() = 0;
  // The peer will accept no more data (its close, or its shutdown of receiving): later sends end in EPIPE.
  virtual void peer_stopped_receiving() = 0;
  // The close handshake we asked for is complete: the link may be closed.
  virtual void closed() = 0;
  // The connection is lost. Every open operation has already had its outcome.
  virtual void failed(Status why) = 0;
};

// Sends and receives that ended are counted by who reports their events.
using Counters = stats::Counters;

// The state that a caller may want between steps.
struct Readiness {
  bool receive = false;          // a receive posted now would end without anything more from the peer
  bool send = false;             // a send posted now would go out
  bool peer_ended = false;       // the peer sends no more data
  bool peer_stopped = false;     // the peer takes no more data
  bool broken = false;           // the connection is lost, which has not been reported yet
  std::uint64_t next_bytes = 0;  // receive: of the next message; of a stream, all that is here
};

}  // namespace proto
}  // namespace exs
