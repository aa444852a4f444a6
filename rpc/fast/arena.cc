// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/arena.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace exs::rpc {
namespace {

constexpr std::size_t kFirstBytes = 4096;
constexpr std::size_t kKeptBytes = std::size_t{1} << 20U;
constexpr std::size_t kAlignment = alignof(std::max_align_t);

}  // namespace

void* Arena::take(std::size_t bytes) {
  if (bytes > SIZE_MAX / 2) return nullptr;
  const std::size_t whole = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (blocks_.empty() || blocks_.back().bytes - used_ < whole) {
    const std::size_t size = std::max(whole, blocks_.empty() ? kFirstBytes : 2 * blocks_.back().bytes);
    Block block{std::unique_ptr<std::byte[]>(new (std::nothrow) std::byte[size]), size};
    if (block.memory == nullptr) return nullptr;
    blocks_.push_back(std::move(block));
    used_ = 0;
  }
  std::byte* const taken = blocks_.back().memory.get() + used_;
  used_ += whole;
  std::memset(taken, 0, bytes);
  return taken;
}

// The last block is the largest, so it stays.
void Arena::reset() {
  used_ = 0;
  if (blocks_.empty()) return;
  if (blocks_.size() > 1) blocks_.erase(blocks_.begin(), blocks_.end() - 1);
  if (blocks_.back().bytes > kKeptBytes) blocks_.clear();
}

}  // namespace exs::rpc
