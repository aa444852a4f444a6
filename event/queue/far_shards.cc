// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/far_shards.h"

#include <new>

#include "base/check.h"

namespace exs {

FarShards::FarShard* FarShards::find(const Shard& shard) noexcept {
  ShardList* const list = list_.load(std::memory_order_relaxed);
  const std::size_t count = list == nullptr ? 0 : list->count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (list->entries[i].shard.get() == &shard) return &list->entries[i];
  }
  return nullptr;
}

bool FarShards::enter(const std::shared_ptr<Shard>& shard) noexcept {
  LockGuard guard(mutex_);
  FarShard* entry = find(*shard);
  if (entry == nullptr) {
    ShardList* list = list_.load(std::memory_order_relaxed);
    if (list == nullptr) {
      list = new (std::nothrow) ShardList;
      if (list == nullptr) return false;
      list_.store(list, std::memory_order_release);
    }
    const std::size_t count = list->count.load(std::memory_order_relaxed);
    EXS_CHECK(count < kShardsMax);
    entry = &list->entries[count];
    entry->shard = shard;
    list->count.store(count + 1, std::memory_order_release);
  }
  entry->users.fetch_add(1, std::memory_order_relaxed);
  users_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void FarShards::leave(const Shard& shard) noexcept {
  LockGuard guard(mutex_);
  FarShard* const entry = find(shard);
  EXS_CHECK(entry != nullptr && entry->users.load(std::memory_order_relaxed) > 0);
  entry->users.fetch_sub(1, std::memory_order_relaxed);
  users_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace exs
