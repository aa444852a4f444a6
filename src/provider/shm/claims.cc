// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/claims.h"

#include <atomic>
#include <bit>

namespace exs::shm {

bool Claims::open(Ticket& ticket) {
  static_assert(TransferWords::kClaims == 64);
  if (in_use_ == UINT64_MAX) return false;
  const auto claim = static_cast<std::uint32_t>(std::countr_one(in_use_));
  in_use_ |= std::uint64_t{1} << claim;
  constexpr std::uint32_t kGenerations = 1U << 30;
  generations_[claim] = (generations_[claim] + 1) % kGenerations;
  ticket = {claim, generations_[claim]};
  words_.claims[claim].store(word(ticket.generation, kAsked), std::memory_order_release);
  return true;
}

void Claims::close(Ticket ticket) {
  words_.claims[ticket.claim].store(0, std::memory_order_relaxed);
  in_use_ &= ~(std::uint64_t{1} << ticket.claim);
}

bool Claims::has_begun(Ticket ticket) const {
  return words_.claims[ticket.claim].load(std::memory_order_relaxed) != word(ticket.generation, kAsked);
}

bool Claims::take_back(Ticket ticket) {
  std::uint32_t expected = word(ticket.generation, kAsked);
  // Acquire and release order nothing more than the word itself here: no byte has moved yet.
  if (!words_.claims[ticket.claim].compare_exchange_strong(expected, 0)) return false;
  close(ticket);
  return true;
}

bool Claims::begin(std::span<std::byte> peer_segment, Ticket ticket) {
  std::uint32_t expected = word(ticket.generation, kAsked);
  return transfer_words_of(peer_segment)
      .claims[ticket.claim]
      .compare_exchange_strong(expected, word(ticket.generation, kBegun));
}

}  // namespace exs::shm
