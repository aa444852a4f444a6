// SPDX-License-Identifier: BSD-2-Clause
#include "event/message/peer_table.h"

#include <utility>

#include "base/refusal.h"

namespace exs {

PeerTable::PeerTable(std::vector<PeerName> names)
    : names_(std::move(names)), size_(static_cast<std::uint32_t>(names_.size())) {
  for (std::uint32_t number = 0; number < names_.size(); ++number) {
    if (names_[number].id != 0) numbers_.emplace(names_[number].id, number);
  }
}

PeerTable::~PeerTable() {
  for (auto& chunk : chunks_) delete chunk.load(std::memory_order_relaxed);
}

void PeerTable::set(std::uint32_t number, Peer& peer) {
  std::atomic<Chunk*>& place = chunks_[number / kChunk];
  Chunk* chunk = place.load(std::memory_order_relaxed);
  if (chunk == nullptr) {
    chunk = new Chunk;
    place.store(chunk, std::memory_order_release);
  }
  chunk->peers[number % kChunk].store(&peer, std::memory_order_release);
}

Result<std::uint32_t> PeerTable::enter(const PeerName& name) {
  if (const auto known = numbers_.find(name.id); known != numbers_.end()) {
    if (name.address.ss_family != AF_UNSPEC) names_[known->second].address = name.address;
    return known->second;
  }
  const std::uint32_t number = size();
  if (number == kChunk * kChunks)
    return failure(refuse(ENOSPC, "{} peers are known, and no more may be", number));
  names_.push_back(name);
  try {
    numbers_.emplace(name.id, number);
  } catch (...) {
    names_.pop_back();
    throw;
  }
  size_.store(number + 1, std::memory_order_release);
  return number;
}

}  // namespace exs
