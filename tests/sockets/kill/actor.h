// A program of a round. It executes commands, one call after the other, and records its progress in memory
// that it shares with the round.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>

#include "tests/sockets/kill/script.h"

namespace killing {

// The round's knowledge of a dead actor.
struct Notes {
  std::atomic<std::uint32_t> phase;  // phase of the step: odd inside a call
  std::atomic<std::uint64_t> sent;   // bytes of sends that have returned
  std::atomic<std::uint64_t> to_send;
  std::atomic<std::uint64_t> received;
  std::atomic<std::uint64_t> to_receive;
  std::atomic<std::uint32_t> port;
  static constexpr std::size_t kBytesMax = 64 * 1024;
  unsigned char bytes[kBytesMax];  // received
};

struct Command {
  Op op;
  std::uint32_t bytes;
  std::uint32_t script;
  std::uint32_t first;  // the cue with which the step begins
  std::uint32_t port;
};

struct Answer {
  std::int64_t result;
  std::int32_t error;
  std::int32_t events;  // of poll
  std::uint32_t signals;
  std::int32_t pid;
};

// Descriptors of an actor that do not belong to its program.
inline constexpr int kControl = 600;
inline constexpr int kChildControl = 601;
inline constexpr int kNotes = 602;
inline constexpr int kRequests = 603;

Notes* map_notes();  // of all actors
// Runs the actor `who` to its end.
[[noreturn]] void act(Who who);
// Continues the step of an actor that has executed this program.
[[noreturn]] void act_on(char** words);

}  // namespace killing
