// Memory for frame headers and small copied payloads that wait for the socket. A link holds chunks only while
// something of it waits, so thousands of idle links cost nothing here.
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

  ~ChunkPool();
  Chunk* take(std::size_t bytes_at_least);
  void give_back(Chunk* chunk) noexcept;

 private:
  std::vector<std::unique_ptr<Chunk>> spare_;
};

// Allocates from the tail of one chunk after the other; each piece is released on its own, in any order.
// Thread: shard.
class FrameArena {
 public:
  explicit FrameArena(ChunkPool& pool) noexcept : pool_(pool) {}

  struct Piece {
    std::byte* start = nullptr;
    Chunk* chunk = nullptr;
  };
  Piece allocate(std::size_t bytes);
  void release(Chunk* chunk) noexcept;

 private:
  ChunkPool& pool_;
  Chunk* tail_ = nullptr;
};

}  // namespace exs::iwarp
