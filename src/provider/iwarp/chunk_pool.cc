#include "src/provider/iwarp/chunk_pool.h"

#include <algorithm>

namespace exs::iwarp {
namespace {

constexpr std::size_t kSpareMax = 64;  // 1 MiB a port is kept for the next burst

}  // namespace

ChunkPool::~ChunkPool() = default;

Chunk* ChunkPool::take(std::size_t bytes_at_least) {
  if (bytes_at_least > kChunkBytes || spare_.empty()) {
    return new Chunk(std::max(bytes_at_least, kChunkBytes));
  }
  Chunk* chunk = spare_.back().release();
  spare_.pop_back();
  return chunk;
}

void ChunkPool::give_back(Chunk* chunk) noexcept {
  chunk->used = 0;
  std::unique_ptr<Chunk> owned(chunk);
  if (owned->capacity != kChunkBytes || spare_.size() >= kSpareMax) return;
  spare_.reserve(kSpareMax);
  spare_.push_back(std::move(owned));
}

FrameArena::Piece FrameArena::allocate(std::size_t bytes) {
  if (tail_ == nullptr || tail_->capacity - tail_->used < bytes) tail_ = pool_.take(bytes);
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
