// The segment that one end of a channel writes messages into and the other reads, byte by byte. Each end has
// one; both ends map both. Integers are in the byte order of the host.
//
//   offset   bytes
//        0    4096  words: what the reader tells the writer and the other way round, a cache line each
//     4096    4096  words of transfers, a cache line each; zero at first (transfer_words.h)
//     8192  262144  slots: the ring of messages
//   270336  262144  annex: what of their payloads does not fit into the slots (ring_account.h)
//   532480 2097152  staging: pieces of transfers (staging.h)
//
// A record takes a slot, and what lies beyond its first 112 bytes is in one piece in the annex:
//
//   0 lap (4)  4 kind (2)  6 flags (2)  8 link (4)  12 length (4)  16 payload (112)
//
// Slot number n, counted from 0 and never reset, lies at n modulo kSlots; its lap is n / kSlots + 1 (modulo
// 2^32). These four bytes are never anything else, so what an earlier lap left in a slot cannot look like a
// record. The lap is stored last, with release: whoever sees it sees the record.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace exs::shm {

inline constexpr std::uint32_t kLayoutVersion = 3;

inline constexpr std::size_t kCacheLineBytes = 64;

inline constexpr std::size_t kSlotBytes = 128;
inline constexpr std::uint32_t kSlots = 2048;  // a power of two
inline constexpr std::size_t kSlotPayload = 112;
inline constexpr std::size_t kAnnexBytes = std::size_t{256} * 1024;  // a power of two

inline constexpr std::size_t kTransferWords = 64;
inline constexpr std::size_t kStagingPieces = 32;
inline constexpr std::size_t kStagingPieceBytes = std::size_t{64} * 1024;

// u64 each, the reader's: slots, and bytes of the annex, that it has done with.
inline constexpr std::size_t kConsumedOffset = 0;
inline constexpr std::size_t kAnnexConsumedOffset = 8;
// u32: 1: the reader sleeps. Set back to 0 by the reader, or by the writer that wakes it.
inline constexpr std::size_t kAsleepOffset = 128;
// u32, the reader's: 1: it has a barrier executed in the writer (base/process_barrier.h) before it sleeps, so a plain look at the word
// before is enough.
inline constexpr std::size_t kPollsOffset = 132;
// u64 each, the writer's: ring when so many slots, and so many bytes of the annex, are done with.
inline constexpr std::size_t kWantedOffset = 256;
inline constexpr std::size_t kAnnexWantedOffset = 264;
// u32, the writer's, constant: 1: barriers of others are executed in its process.
inline constexpr std::size_t kFencedOffset = 384;
inline constexpr std::size_t kTransferWordsOffset = 4096;
inline constexpr std::size_t kSlotsOffset = 8192;
inline constexpr std::size_t kAnnexOffset = kSlotsOffset + kSlots * kSlotBytes;
inline constexpr std::size_t kStagingOffset = kAnnexOffset + kAnnexBytes;
inline constexpr std::size_t kSegmentBytes = kStagingOffset + kStagingPieces * kStagingPieceBytes;

// Within a slot.
inline constexpr std::size_t kLapOffset = 0;
inline constexpr std::size_t kKindOffset = 4;
inline constexpr std::size_t kFlagsOffset = 6;
inline constexpr std::size_t kLinkOffset = 8;
inline constexpr std::size_t kLengthOffset = 12;
inline constexpr std::size_t kPayloadOffset = kSlotBytes - kSlotPayload;

static_assert((kSlots & (kSlots - 1)) == 0);
static_assert((kAnnexBytes & (kAnnexBytes - 1)) == 0);
static_assert(kLengthOffset + 4 == kPayloadOffset);
static_assert(kTransferWordsOffset + kTransferWords * kCacheLineBytes == kSlotsOffset);
static_assert(kStagingOffset % 4096 == 0 && kSegmentBytes % 4096 == 0);

// A word of a segment. Both processes may write any word at any time: load once, check, then use.
template <typename Integer>
std::atomic_ref<Integer> shared_word(std::byte* at) {
  static_assert(std::atomic_ref<Integer>::is_always_lock_free);
  return std::atomic_ref<Integer>(*reinterpret_cast<Integer*>(at));
}

// Piece number n of a staging area, counted from 0. A channel that has moved little uses few of the pieces, and so has touched
// little memory: it is a crowd of such channels for which that counts. More pieces let one end run ahead of the other.
inline constexpr std::uint64_t kFewPieces = 8;
inline constexpr std::uint64_t kFewPiecesUntil = 2048;
static_assert(kFewPiecesUntil % kStagingPieces == 0 && kFewPieces <= kStagingPieces);

inline std::span<std::byte> staging(std::span<std::byte> segment, std::uint64_t number) {
  const std::uint64_t index = number % (number < kFewPiecesUntil ? kFewPieces : kStagingPieces);
  return segment.subspan(kStagingOffset + index * kStagingPieceBytes, kStagingPieceBytes);
}

// How many pieces from number n back lie beside each other.
constexpr std::uint64_t pieces_up_to(std::uint64_t number) {
  return number < kFewPiecesUntil + kFewPieces ? kFewPieces : kStagingPieces;
}

}  // namespace exs::shm
