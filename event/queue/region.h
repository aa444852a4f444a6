// Registered memory: its range, its access rights, and how many operations use it.
//
// The uses are counted in two places. Any thread counts in `users_`, with locked instructions. The holder of the drive lock of one
// shard, the first that asks, also counts in `uses_here_`, with plain stores. Their sum is the number of uses, and neither is negative.
// The sum is exact for a thread that holds that drive lock.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "src/provider/provider.h"

namespace exs {

class Shard;

// Thread: immutable after construction, but for the count (any).
class Region : public std::enable_shared_from_this<Region> {
 public:
  Region(std::span<std::byte> range, Access access, MemoryKey key, bool allocated,
         bool writable = true) noexcept
      : range_(range), access_(access), key_(key), allocated_(allocated), writable_(writable) {}

  [[nodiscard]] bool contains(const void* address, std::size_t length_bytes) const noexcept {
    const auto first = reinterpret_cast<std::uintptr_t>(address);
    const auto base = reinterpret_cast<std::uintptr_t>(range_.data());
    return first >= base && first - base <= range_.size() && length_bytes <= range_.size() - (first - base);
  }
  [[nodiscard]] std::span<std::byte> range() const noexcept { return range_; }
  [[nodiscard]] Access access() const noexcept { return access_; }
  [[nodiscard]] MemoryKey key() const noexcept { return key_; }
  [[nodiscard]] bool allocated() const noexcept { return allocated_; }
  // Receives may go there: it was so when the memory was registered.
  [[nodiscard]] bool writable() const noexcept { return writable_; }

  // Counts one more operation that uses the region. False: the region is being deregistered.
  [[nodiscard]] bool use() noexcept {
    std::int64_t users = users_.load(std::memory_order_relaxed);
    while (users >= 0) {
      if (users_.compare_exchange_weak(users, users + 1, std::memory_order_acquire)) return true;
    }
    return false;
  }
  // Another thread may drop the last reference once the count is down.
  void release() noexcept {
    std::int64_t users = users_.load(std::memory_order_relaxed);
    while ((users & kAwaited) == 0) {
      if (users_.compare_exchange_weak(users, users - 1, std::memory_order_acq_rel)) return;
    }
    const auto self = shared_from_this();
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == (kAwaited | 1)) users_.notify_all();
  }

  // --- Thread: the shard ---
  // Likewise for the holder of its drive lock. False: use() decides.
  [[nodiscard]] bool use_here(Shard& shard) noexcept {
    if (home_.load(std::memory_order_relaxed) != &shard && !make_home(shard)) return false;
    if (users_.load(std::memory_order_seq_cst) < 0) return false;
    uses_here_.store(uses_here_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return true;
  }
  void release_here(const Shard& shard) noexcept {
    const std::int64_t uses = uses_here_.load(std::memory_order_relaxed);
    if (home_.load(std::memory_order_relaxed) != &shard || uses == 0) return release();
    uses_here_.store(uses - 1, std::memory_order_release);
  }

  // --- Thread: any that holds no drive lock ---
  // False: operations use the region. After success no operation can begin to.
  [[nodiscard]] bool retire() noexcept;
  // Waits until no operation uses the region. False: another thread has retired it.
  [[nodiscard]] bool retire_when_idle() noexcept;

 private:
  [[nodiscard]] bool make_home(Shard& shard) noexcept {
    Shard* none = nullptr;
    return home_.compare_exchange_strong(none, &shard, std::memory_order_seq_cst);
  }
  [[nodiscard]] bool retire_idle() noexcept;
  void count_all_alike() noexcept;

  const std::span<std::byte> range_;
  const Access access_;
  const MemoryKey key_;
  const bool allocated_;
  const bool writable_;
  static constexpr std::int64_t kRetired = -1;
  // Added while a thread waits for the last use to end.
  static constexpr std::int64_t kAwaited = std::int64_t{1} << 62;

  std::atomic<std::int64_t> users_{0};  // pending operations, but those counted here:
  std::atomic<std::int64_t> uses_here_{0};
  std::atomic<Shard*> home_{nullptr};  // the shard that counts here; set once
};

}  // namespace exs
