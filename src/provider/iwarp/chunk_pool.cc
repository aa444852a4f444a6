// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/iwarp/chunk_pool.h"

#include <algorithm>

#include "base/contain.h"

namespace exs::iwarp {
namespace {

// 1 MiB a port is kept for the next burst, and half of that in small chunks.
constexpr std::size_t kSpareMax = 64;
constexpr std::size_t kSpareSmallMax = 512;

}  // namespace

ChunkPool::~ChunkPool() = default;

Chunk* ChunkPool::take_chunk(std::size_t bytes_at_least) {
  const bool small = bytes_at_least <= kSmallChunkBytes;
  Spare& spare = small ? spare_small_ : spare_;
  if (bytes_at_least > kChunkBytes || spare.empty()) {
    return new Chunk(std::max(bytes_at_least, small ? kSmallChunkBytes : kChunkBytes));
  }
  Chunk* chunk = spare.back().release();
  spare.pop_back();
  return chunk;
}

void ChunkPool::give_back(Chunk* chunk) noexcept {
  chunk->used = 0;
  std::unique_ptr<Chunk> owned(chunk);
  if (owned->capacity > kChunkBytes) return;
  const bool small = owned->capacity == kSmallChunkBytes;
  Spare& spare = small ? spare_small_ : spare_;
  const std::size_t most = small ? kSpareSmallMax : kSpareMax;
  if (spare.size() >= most) return;
  contain(
      [&] {
        spare.reserve(most);
        spare.push_back(std::move(owned));
      },
      [] {});
}

FrameArena::Piece FrameArena::allocate(std::size_t bytes) {
  if (tail_ == nullptr) {
    tail_ = pool_.take_chunk(bytes);
  } else if (tail_->capacity - tail_->used < bytes) {
    tail_ = pool_.take_chunk(std::max(bytes, ChunkPool::kChunkBytes));
  }
  Piece piece{tail_->storage.get() + tail_->used, tail_};
  tail_->used += bytes;
  ++tail_->live;
  return piece;
}

void FrameArena::release(Chunk* chunk) noexcept {
  if (--chunk->live > 0) return;
  if (chunk == tail_) tail_ = nullptr;
  pool_.give_back(chunk);
}

}  // namespace exs::iwarp
