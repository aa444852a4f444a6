// The peers of an endpoint, by number: all ranks of a job from the beginning, or other IDs as they are named
// or arrive.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace exs {

class Peer;

struct PeerName {
  sockaddr_storage address{};  // no family: not known
  std::uint64_t id = 0;        // 0: of a rank
};

class PeerTable {
 public:
  explicit PeerTable(std::vector<PeerName> names);
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;
  ~PeerTable();

  // --- Thread: any ---
  [[nodiscard]] std::uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }
  // Null: no message has gone there or arrived from there.
  [[nodiscard]] Peer* find(std::uint32_t number) const noexcept {
    const Chunk* const chunk = chunks_[number / kChunk].load(std::memory_order_acquire);
    return chunk == nullptr ? nullptr : chunk->peers[number % kChunk].load(std::memory_order_acquire);
  }

  // --- Thread: shard ---
  // Throws std::bad_alloc, and nothing has changed.
  void set(std::uint32_t number, Peer& peer);
  [[nodiscard]] const PeerName& name(std::uint32_t number) const noexcept { return names_[number]; }
  // Returns the number of that ID, which is new or known, and stores a given address. ENOSPC: the table is
  // full. Throws std::bad_alloc without any change.
  Result<std::uint32_t> enter(const PeerName& name);

 private:
  static constexpr std::uint32_t kChunk = 1024;
  static constexpr std::uint32_t kChunks = 1024;
  struct Chunk {
    std::atomic<Peer*> peers[kChunk]{};
  };

  std::vector<PeerName> names_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by id
  std::atomic<std::uint32_t> size_;
  std::atomic<Chunk*> chunks_[kChunks]{};
};

}  // namespace exs
