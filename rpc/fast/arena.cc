// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/arena.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>

#include "base/check.h"

namespace exs::rpc {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kKeptBytes = std::size_t{1} << 20U;
constexpr std::size_t kAlignment = alignof(std::max_align_t);

}  // namespace

void* RequestArena::allocate(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  const bool has_room = !blocks_.empty() && blocks_.back().bytes - used_ >= whole;
  if (!has_room && !add_block(whole)) return nullptr;
  std::byte* const taken = blocks_.back().memory.get() + used_;
  used_ += whole;
  EXS_CHECK(used_ <= blocks_.back().bytes);
  std::memset(taken, 0, bytes);
  return taken;
}

bool RequestArena::add_block(std::size_t bytes) try {
  const std::size_t size = std::max(bytes, blocks_.empty() ? kFirstBytes : 2 * blocks_.back().bytes);
  std::unique_ptr<std::byte[]> memory(new std::byte[size]);
  blocks_.push_back({std::move(memory), size});
  used_ = 0;
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

// The last block is the largest, so it stays.
void RequestArena::reset() {
  used_ = 0;
  if (blocks_.empty()) return;
  if (blocks_.size() > 1) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
  if (blocks_.back().bytes > kKeptBytes) blocks_.clear();
}

}  // namespace exs::rpc
