// READ and WRITE between the two processes of a channel: the words that protect each end's memory.
//
// There are three ways to move the bytes, and none reaches a byte that its owner did not open a window on:
//  - memory of the peer that is mapped here (exs_alloc): a plain copy (peer_memory.h);
//  - process_vm_readv and writev: the peer need not run (peer_memory.h);
//  - pieces: the owner of the bytes copies them into its staging area, the other end out of it, both at once
//    (staging.h).
//
// Pieces are taken in the order of the records that announce them, so the staging area is a ring of its own:
// one counter says how many have been taken, and no index is passed.
//
// The first two ways do not involve the owner of the memory, who may close its link at any time and get its
// memory back. So the end that accesses says so first (`accessing`), then checks whether links closed that it
// does not know of yet (`closings`); the end that closes counts first, then waits for an access to its link
// to end. Each access is short.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "src/provider/shm/layout.h"

namespace exs::shm {

// The words of one segment, a page that layout.h leaves to transfers. Zero at first.
struct TransferWords {
  static constexpr std::size_t kClaims = 64;

  // Written by the segment's owner.
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> accessing;  // number of the peer's link; 0: none
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> closings;   // links of its own that are gone
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> waits;      // it sleeps until pieces are taken
  // Written by the peer: how many pieces of this segment's staging area it has taken out.
  alignas(kCacheLineBytes) std::atomic<std::uint64_t> pieces_taken;
  // Written by both ends: which of them moves the bytes of a read that the owner asked for.
  alignas(kCacheLineBytes) std::atomic<std::uint32_t> claims[kClaims];
};
static_assert(sizeof(TransferWords) <= kTransferWords * kCacheLineBytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free &&
              std::atomic<std::uint64_t>::is_always_lock_free);

inline TransferWords& transfer_words_of(std::span<std::byte> segment) {
  return *reinterpret_cast<TransferWords*>(segment.data() + kTransferWordsOffset);
}

}  // namespace exs::shm
