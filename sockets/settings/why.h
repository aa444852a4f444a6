// Why a connection takes shared memory in part or not at all: codes, sentences and cures. A program's last
// line (EXS_EXPLAIN) and exs-explain use the same ones. Code inside foreign programs uses them, too: no
// allocation.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace exs::sockets {

// A slot may hold the codes up to kTooMany. The others are derived from the slot from outside.
enum class Why : std::uint32_t {
  kNone,  // no cause known; without a lane: the connection has not looked for its peer
  kPeerNotPreloaded,
  kOtherHost,
  kOtherUser,
  kOtherNetns,
  kShared,
  kPinnedExec,
  kPinnedPassed,
  kOption,
  kIoUring,
  kNoDescriptors,
  kBroken,
  kRule,
  kSandbox,
  kRedirected,
  kNotMet,
  kStrangers,
  kReset,
  kStandardStream,
  kUnseen,
  // Causes on the way to another host, in the order of between/link.h.
  kNotCome,
  kNoLibrary,
  kNoDevice,
  kNoAgent,
  kNotFound,
  kNoPath,
  kNoMemory,
  kTooMany,
  kAsking,    // the ends are about to meet
  kStarting,  // they have met, and nothing has been sent since
  kReceiving,
  kRingFull,
  kHeldBack,
  kByKernel,
  kPeerLeft,
  kEnded,
  kNotKnown,
};

// Thread: immutable value.
struct WhyText {
  const char* code;  // stable
  const char* sentence;
  const char* cure;  // empty: no cure is needed
};

// Accepts any number, because other processes may have written it.
WhyText text_of(Why why) noexcept;

}  // namespace exs::sockets
