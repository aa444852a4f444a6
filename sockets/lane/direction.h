// The shared words of one direction of a connection, beside its ring. The type of a word is a parameter, so
// that tests can run every order of loads and stores.
//
// A hostile process may store anything in its words. Each end checks them against its own state, which the
// peer does not share (SenderState, ReceiverState).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace exs::lane {

// The ring is the lane: the sender has announced no turn.
inline constexpr std::uint64_t kNoTurn = ~std::uint64_t{0};

// Bits of Direction::sleep.
inline constexpr std::uint32_t kArmed = 1;  // the receiver wants a bell for the next bytes
// The receiver has left the ring and never reads it again.
inline constexpr std::uint32_t kDetached = 2;
// Edge-triggered waiters: each put rings a bell, and kArmed stays set.
inline constexpr std::uint32_t kEach = 4;
// The bits above count every bell that was ever owed. The step that clears kArmed, or leaves it set for
// kEach, also adds one.
inline constexpr std::uint32_t kBell = 8;

// Values of Direction::claim: which end takes the bytes that are unread when the receiver leaves. The first
// claim wins.
inline constexpr std::uint32_t kUnclaimed = 0;
inline constexpr std::uint32_t kSenders = 1;  // the sender sends them by TCP
// The receiver copies them, or has resent them, up to `claimed`.
inline constexpr std::uint32_t kReceivers = 2;
// The receiver tries to resend them. It then claims them or gives up.
inline constexpr std::uint32_t kResending = 3;

inline constexpr std::size_t kCacheLine = 64;

template <template <typename> class Word>
struct Direction {
  // --- stored by the sender ---
  alignas(kCacheLine) Word<std::uint64_t> written;  // bytes put into the ring, ever
  Word<std::uint64_t> start;                        // position of the byte at the ring's first place
  Word<std::uint64_t> mark;                         // bytes of TCP that come before this stretch of the ring
  Word<std::uint64_t> turn;                         // value of `written` where this stretch ends, or kNoTurn
  Word<std::uint32_t> epoch;                        // stretches of the ring begun, ever
  Word<std::uint32_t> final;                        // 1: no further stretch begins
  Word<std::uint32_t> in_tcp;                       // sends by TCP in progress
  // 1: the program has ended this direction, so TCP's end does not mean that the process died.
  Word<std::uint32_t> ended;
  Word<std::uint64_t> put_ns;     // time of the last put, when the sender was alive
  Word<std::uint64_t> filled_ns;  // time of the last put into the empty ring
  // --- stored by the receiver ---
  alignas(kCacheLine) Word<std::uint64_t> consumed;  // bytes taken from the ring, ever
  Word<std::uint32_t> passed;                        // stretches of the ring read to their end, ever
  Word<std::uint32_t> ready;   // 1: the receiver looks at these words before it takes a byte from TCP
  Word<std::uint32_t> closed;  // 1: this end is closed
  // The end of the bytes that a leaving receiver takes along, if it claims them.
  Word<std::uint64_t> claimed;
  // --- changed by both ---
  alignas(kCacheLine) Word<std::uint32_t> sleep;
  Word<std::uint32_t> claim;
};

}  // namespace exs::lane
