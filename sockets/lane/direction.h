// What the two ends of one direction of a connection tell each other in shared memory, beside the ring itself. The words are a
// parameter, so that tests can run every order of their loads and stores.
//
// The words of one end may hold anything if that end's process is hostile: who reads one checks it against what he knows
// himself (SenderState, ReceiverState), which is not shared with the peer.
#pragma once

#include <cstddef>
#include <cstdint>

namespace exs::lane {

// No turn is announced: the ring is the lane.
inline constexpr std::uint64_t kNoTurn = ~std::uint64_t{0};

// Bits of Direction::sleep.
inline constexpr std::uint32_t kArmed = 1;  // the receiver wants a bell for the next bytes
inline constexpr std::uint32_t kDetached =
    2;                                     // the receiver has left the ring, and reads no byte of it any more
inline constexpr std::uint32_t kEach = 4;  // whoever waits is told of edges: each put rings, and kArmed stays
// What is above them counts the bells that were ever owed: one each time that the sender cleared kArmed, or left it for kEach, in
// the same step.
inline constexpr std::uint32_t kBell = 8;

// Values of Direction::claim: who takes what a receiver that has left the ring has not read. The first to claim it does.
inline constexpr std::uint32_t kUnclaimed = 0;
inline constexpr std::uint32_t kSenders = 1;    // the sender sends it by TCP
inline constexpr std::uint32_t kReceivers = 2;  // the receiver copies it, or has resent it, up to `claimed`
inline constexpr std::uint32_t kResending = 3;  // the receiver tries to resend it, and claims it or lets go

inline constexpr std::size_t kCacheLine = 64;

template <template <typename> class Word>
struct Direction {
  // --- stored by the sender ---
  alignas(kCacheLine) Word<std::uint64_t> written;  // bytes put into the ring, ever
  Word<std::uint64_t> start;   // of these, the number that lies at the ring's first place
  Word<std::uint64_t> mark;    // bytes of TCP that come before this stretch of the ring
  Word<std::uint64_t> turn;    // value of `written` where this stretch ends, or kNoTurn
  Word<std::uint32_t> epoch;   // stretches of the ring begun, ever
  Word<std::uint32_t> final;   // 1: after this one there are none
  Word<std::uint32_t> in_tcp;  // sends by TCP that are under way
  Word<std::uint32_t>
      ended;  // 1: the program has ended this way itself, so an end is no sign that it is dead
  Word<std::uint64_t> put_ns;     // when it put bytes there last: it was alive then
  Word<std::uint64_t> filled_ns;  // when it put bytes into the empty ring last
  // --- stored by the receiver ---
  alignas(kCacheLine) Word<std::uint64_t> consumed;  // bytes taken from the ring, ever
  Word<std::uint32_t> passed;                        // stretches of the ring read to their end, ever
  Word<std::uint32_t> ready;                         // 1: looks at these words before it takes a byte of TCP
  Word<std::uint32_t> closed;                        // 1: this end is closed
  Word<std::uint64_t> claimed;  // where what a receiver that leaves takes along ends, if it claims it
  // --- changed by both ---
  alignas(kCacheLine) Word<std::uint32_t> sleep;
  Word<std::uint32_t> claim;
};

}  // namespace exs::lane
