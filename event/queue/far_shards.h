// The shards, other than its home, on which operations name a queue. Their events would come from threads of the library alone, 15 us
// late, if a thread that waits for the queue did not drive these shards, too; and where that thread leaves the processor to no other, they
// would never come.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "base/locks.h"
#include "event/engine/shard.h"

namespace exs {

class FarShards {
 public:
  FarShards() = default;
  ~FarShards() { delete list_.load(std::memory_order_relaxed); }
  FarShards(const FarShards&) = delete;
  FarShards& operator=(const FarShards&) = delete;

  // --- Thread: any ---
  // Counts one more user of the queue on that shard. False: there is no memory for it, and the shard is left to its engine.
  [[nodiscard]] bool enter(const std::shared_ptr<Shard>& shard) noexcept EXS_EXCLUDES(mutex_);
  void leave(const Shard& shard) noexcept EXS_EXCLUDES(mutex_);
  [[nodiscard]] bool empty() const noexcept { return users_.load(std::memory_order_relaxed) == 0; }
  // `visit`(Shard&) for each that has users.
  template <typename Visit>
  void each(Visit&& visit) const {
    if (empty()) return;
    const ShardList* const list = list_.load(std::memory_order_acquire);
    const std::size_t count = list == nullptr ? 0 : list->count.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < count; ++i) {
      if (list->entries[i].users.load(std::memory_order_relaxed) != 0) visit(*list->entries[i].shard);
    }
  }

 private:
  // A place is never another shard's, so that it can be read without the lock.
  struct FarShard {
    std::shared_ptr<Shard> shard;
    std::atomic<std::size_t> users{0};  // written under the lock
  };
  struct ShardList {
    std::array<FarShard, kShardsMax> entries;
    std::atomic<std::size_t> count{0};  // written under the lock
  };
  [[nodiscard]] FarShard* find(const Shard& shard) noexcept EXS_REQUIRES(mutex_);

  Mutex mutex_;
  std::atomic<ShardList*> list_{nullptr};  // made by the first user, under the lock
  std::atomic<std::size_t> users_{0};      // of all; written under the lock
};

}  // namespace exs
