// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/window_memory.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace exs::svc {
namespace {

constexpr std::size_t kSmallest = 4096;

bool has_room(const WindowQuota& quota, std::size_t bytes) {
  return quota.bytes == nullptr || (bytes <= quota.most_bytes && *quota.bytes <= quota.most_bytes - bytes);
}

void leave(const WindowQuota& quota, const std::vector<Window>& windows) {
  if (quota.bytes == nullptr) return;
  for (const Window& window : windows)
    if (!window.is_of_program) *quota.bytes -= window.bytes;
}

}  // namespace

Windows::~Windows() {
  leave(quota_, list);
  memory_->give_back(list);
}

WindowMemory::WindowMemory(std::size_t most_bytes)
    : most_bytes_(most_bytes), has_library_(exs_init(EXS_VERSION) == 0) {}

WindowMemory::~WindowMemory() {
  const LockGuard guard(lock_);
  EXS_CHECK(allocated_.size() == allocated_count_);  // windows of messages keep the memory
  for (const Window& window : allocated_) exs_free(window.start);
  if (has_library_) exs_fini();
}

void WindowMemory::add(const Window& window) {
  const LockGuard guard(lock_);
  of_program_.reserve(of_program_count_ + 1);
  ++of_program_count_;
  of_program_.push_back(window);
}

std::size_t WindowMemory::free_windows() {
  const LockGuard guard(lock_);
  return of_program_.size();
}

void WindowMemory::withdraw() {
  const LockGuard guard(lock_);
  is_withdrawn_ = true;
  of_program_.clear();
}

std::shared_ptr<Windows> WindowMemory::take(std::span<const std::uint64_t> lengths,
                                            const WindowQuota& quota) {
  auto windows = std::make_shared<Windows>(shared_from_this(), quota);
  windows->list.reserve(lengths.size());
  const LockGuard guard(lock_);
  for (const std::uint64_t length : lengths) {
    Window window;
    if (!take_one(length, quota, window)) {
      for (const Window& taken : windows->list) put(taken);
      leave(quota, windows->list);
      windows->list.clear();
      return {};
    }
    windows->list.push_back(window);
    if (quota.bytes != nullptr && !window.is_of_program) *quota.bytes += window.bytes;
  }
  return windows;
}

bool WindowMemory::take_one(std::uint64_t length, const WindowQuota& quota, Window& window) {
  auto best = of_program_.end();
  for (auto it = of_program_.begin(); it != of_program_.end(); ++it)
    if (it->bytes >= length && (best == of_program_.end() || it->bytes < best->bytes)) best = it;
  if (best != of_program_.end()) {
    window = *best;
    of_program_.erase(best);
    return true;
  }
  if (length > most_bytes_) return false;
  const std::size_t bytes = std::max(kSmallest, std::bit_ceil(static_cast<std::size_t>(length)));
  if (!has_room(quota, bytes)) return false;
  const auto kept = std::find_if(allocated_.begin(), allocated_.end(),
                                 [bytes](const Window& free) { return free.bytes == bytes; });
  if (kept == allocated_.end()) return allocate(bytes, window);
  window = *kept;
  allocated_.erase(kept);
  return true;
}

bool WindowMemory::allocate(std::size_t bytes, Window& window) {
  while (allocated_bytes_ + bytes > most_bytes_ && free_largest()) continue;
  if (allocated_bytes_ + bytes > most_bytes_) return false;
  allocated_.reserve(allocated_count_ + 1);
  window.start = static_cast<std::uint8_t*>(exs_alloc(bytes, &window.region));
  if (window.start == nullptr) return false;
  window.bytes = bytes;
  allocated_bytes_ += bytes;
  ++allocated_count_;
  return true;
}

bool WindowMemory::free_largest() {
  const auto largest = std::max_element(allocated_.begin(), allocated_.end(),
                                        [](const Window& a, const Window& b) { return a.bytes < b.bytes; });
  if (largest == allocated_.end()) return false;
  exs_free(largest->start);
  EXS_DEBUG_CHECK(allocated_count_ > 0 && allocated_bytes_ >= largest->bytes);
  allocated_bytes_ -= largest->bytes;
  --allocated_count_;
  allocated_.erase(largest);
  return true;
}

void WindowMemory::give_back(const std::vector<Window>& windows) noexcept {
  const LockGuard guard(lock_);
  for (const Window& window : windows)
    if (!window.is_of_program || !is_withdrawn_) put(window);
}

}  // namespace exs::svc
