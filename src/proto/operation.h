// What the protocol engine is asked to do and what it answers: one Operation in, one Outcome out.
#pragma once

#include <cstdint>

#include "src/provider/provider.h"

namespace exs::proto {

// What whoever posted the operation needs to find again when it ends. Never looked at by the engine.
struct OperationTag {
  void* queue = nullptr;
  void* region = nullptr;
  void* handle = nullptr;
  std::int32_t memory_handle = 0;
};

struct Operation {
  LocalSlice memory;             // owned by the engine until the outcome
  bool never_immediate = false;  // sends: completion must mean that the data are in the peer's memory
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

}  // namespace exs::proto
