// Memory for frame headers and small copied payloads that wait for the socket. A link holds chunks only while
// some of its data waits, so thousands of idle links cost nothing here. It holds one small chunk for its
// first few messages, so thousands of links that answer at the same time cost little.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace exs::iwarp {

struct Chunk {
  explicit Chunk(std::size_t bytes) : storage(new std::byte[bytes]), capacity(bytes) {}
  std::unique_ptr<std::byte[]> storage;
  std::size_t capacity;
  std::size_t used = 0;
  std::uint32_t live = 0;  // allocations not yet released
};

// Chunks of one port. Thread: shard.
class ChunkPool {
 public:
  static constexpr std::size_t kChunkBytes = 16384;
  static constexpr std::size_t kSmallChunkBytes = 1024;

  ~ChunkPool();
  // Returns a chunk of either size, or a larger one if `bytes_at_least` demands it.
  Chunk* take_chunk(std::size_t bytes_at_least);
  void give_back(Chunk* chunk) noexcept;
  // The next small chunk needs no memory.
  [[nodiscard]] bool has_small() const noexcept { return !spare_small_.empty(); }

 private:
  using Spare = std::vector<std::unique_ptr<Chunk>>;
  Spare spare_;
  Spare spare_small_;
};

// Allocates from the tail of one chunk after the other, the first one small; each piece is released on its
// own, in any order. Thread: shard.
class FrameArena {
 public:
  explicit FrameArena(ChunkPool& pool) noexcept : pool_(pool) {}

  struct Piece {
    std::byte* start = nullptr;
    Chunk* chunk = nullptr;
  };
  Piece allocate(std::size_t bytes);
  void release(Chunk* chunk) noexcept;
  // Nothing is allocated, and a piece of up to a small chunk needs no memory.
  [[nodiscard]] bool has_spare() const noexcept { return tail_ == nullptr && pool_.has_small(); }

 private:
  ChunkPool& pool_;
  Chunk* tail_ = nullptr;
};

}  // namespace exs::iwarp
