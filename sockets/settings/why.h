// Why a connection does not take shared memory, or not all the way: codes, sentences and cures, the same in the line that a
// program says at its end (EXS_EXPLAIN) and in exs-explain. Used inside programs that know nothing of the layer, too: no allocation.
#pragma once

#include <cstdint>

namespace exs::sockets {

// Those up to kTooMany a slot may hold. The others are seen in it from outside.
enum class Why : std::uint32_t {
  kNone,  // of a connection that has no lane: it has not asked for one
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
  // On the way to another host, in the order of between/link.h.
  kNotCome,
  kNoLibrary,
  kNoDevice,
  kNoAgent,
  kNotFound,
  kNoPath,
  kNoMemory,
  kTooMany,
  kAsking,    // the ends are about to meet
  kStarting,  // they have met, and nothing was sent since
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
  const char* cure;  // empty: there is nothing to cure
};

// Of any number, as memory of other processes may hold it.
WhyText text_of(Why why) noexcept;

}  // namespace exs::sockets
