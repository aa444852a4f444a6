// What the protocol engine is asked to do and what it answers: one Operation in, one Outcome out.
#pragma once

#include <cstdint>
#include <span>

#include "src/provider/provider.h"

namespace exs {

class Attachment;
class EventQueue;
class Region;

namespace proto {

// What whoever posted the operation finds again when it ends. The engine never looks at it, except at the
// handle, which a cancel may name.
struct OperationTag {
  EventQueue* queue = nullptr;
  Region* region = nullptr;          // of operations with one piece of registered memory
  Attachment* attachment = nullptr;  // what other operations hold on to
  void* handle = nullptr;
  std::int32_t memory_handle = 0;
  std::uint8_t event_type = 0;  // 0: the plain one of the direction
  bool no_event = false;
};

struct Operation {
  LocalSlice memory;  // owned by the engine until the outcome
  std::span<const LocalSlice>
      vector;                    // several pieces: they lie outside, `memory` has their sum as its length
  std::uint64_t offset = 0;      // at_offset: in the peer's persistent memory
  std::uint64_t posted_ns = 0;   // when, if somebody may ask; else 0
  bool never_immediate = false;  // sends: completion must mean that the data are in the peer's memory
  bool persistent = false;       // stays posted; the peer drives
  bool notify = false;           // persistent: tell each time the peer used it
  bool at_offset = false;        // drives the peer's persistent operation at `offset`
  bool wait_all = false;         // receives of a stream: not before the memory is full
  bool more = false;             // sends: not before the next send without it, or flush()
  OperationTag tag;
};

enum class Direction : std::uint8_t { kSend, kReceive };

// Facts about a finished operation; a bit set.
enum OutcomeFlag : std::uint32_t {
  kTruncated = 1,    // the message was longer than the receive buffer
  kEndOfStream = 2,  // orderly end of the peer's sending direction
  kEndOfMessage = 4,
  kCopied = 8,      // a copy was made here
  kImmediate = 16,  // the data travelled inside the advertisement
};

struct Outcome {
  int error = 0;  // errno value
  std::uint64_t length_bytes = 0;
  std::uint32_t flags = 0;
};

// How the peer used a persistent operation since this was last told.
struct Usage {
  std::uint64_t bytes = 0;
  std::uint32_t transfers = 0;
  std::uint64_t last_offset = 0;
};

// Which operations a cancel means.
struct Selection {
  bool any_handle = true;
  void* handle = nullptr;
  std::uint64_t posted_until_ns =
      UINT64_MAX;  // else spares those posted later, persistent ones and those not told when

  [[nodiscard]] bool names(const void* other) const noexcept { return any_handle || other == handle; }
  [[nodiscard]] bool matches(const Operation& operation) const noexcept {
    if (!names(operation.tag.handle)) return false;
    if (posted_until_ns == UINT64_MAX) return true;
    return !operation.persistent && operation.posted_ns != 0 && operation.posted_ns <= posted_until_ns;
  }
};

struct Cancelled {
  std::uint32_t matched = 0;
  std::uint32_t begun = 0;  // of those: the peer has begun with them, so they end when it has ended them
};

}  // namespace proto
}  // namespace exs
