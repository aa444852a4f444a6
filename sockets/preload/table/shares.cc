// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/shares.h"

#include "sockets/preload/kernel/chunks.h"
#include "sockets/preload/table/arena_layout.h"

namespace exs::sockets {
namespace {

constexpr std::uint32_t kSharesPerChunk = 256;
constinit Chunks<SlotShare, kSlots, kSharesPerChunk> shares;
std::atomic<std::uint32_t> shares_end{0};

}  // namespace

SlotShare& share_of(std::uint32_t slot) noexcept {
  static constinit SlotShare none{};  // a sink for the case that the kernel has no memory
  SlotShare* const share = shares.make(slot);
  return share == nullptr ? none : *share;
}

std::uint32_t shares_used() noexcept {
  return shares_end.load();
}

void note_share(std::uint32_t slot) noexcept {
  if (slot >= shares_end.load()) shares_end.store(slot + 1);
}

void forget_shares() noexcept {
  shares_end.store(0);
}

}  // namespace exs::sockets
