// The state behind the C functions: the tables, the shards, and whether the library is initialised.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/handle_table.h"
#include "event/queue/receive_pool.h"
#include "event/queue/region.h"
#include "event/stats/stats_page.h"
#include "src/api/descriptor_table.h"

namespace exs {

// One per process, and a new one in a child after fork, because the engine threads stay in the parent. Never
// destroyed, so a call that races with the last exs_fini() finds empty tables. Thread: any.
class Library {
 public:
  // Null before exs_init and after the last exs_fini.
  [[nodiscard]] static Library* current();
  static Status begin(int version);
  static Status end();

  DescriptorTable sockets;
  HandleTable<EventQueue> queues{0};
  HandleTable<Region> regions{1};
  HandleTable<ReceivePool> pools{2};

  // Shards are assigned in turn and created when they are first needed.
  Result<std::shared_ptr<Shard>> next_shard() EXS_EXCLUDES(mutex_);
  [[nodiscard]] const std::string& provider_wish() const noexcept { return provider_wish_; }

  // Regions of exs_alloc by address.
  void remember_allocation(void* address, exs_mhandle_t handle) EXS_EXCLUDES(mutex_);
  exs_mhandle_t allocation_at(void* address) EXS_EXCLUDES(mutex_);
  void forget_allocation(void* address) EXS_EXCLUDES(mutex_);

  // A socket of ours that another one of its number has pushed out of the table: kept until the last
  // exs_fini.
  void keep_lost(std::shared_ptr<Socket> socket) EXS_EXCLUDES(mutex_);
  // A region that an operation still uses after the last exs_fini: kept until the process ends.
  void keep_lost(std::shared_ptr<Region> region) EXS_EXCLUDES(mutex_);

  // In a child, before it has a library of its own. The parent's locks may be held for ever.
  void leave_to_parent() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
    if (stats_page_) stats_page_->leave_to_parent();
  }

  // Counters of closed sockets.
  void add_to_totals(const exs_stats_t& stats) EXS_EXCLUDES(mutex_);
  [[nodiscard]] exs_stats_t totals() EXS_EXCLUDES(mutex_);

 private:
  // `inherited`: in a child, the parent's. Its locks may be held for ever, so it is kept, with all that it
  // owns.
  explicit Library(const Library* inherited) : inherited_(inherited) {}
  Status prepare();
  // src/api/shutdown.cc
  void delete_queues_and_pools();
  void shut_down();

  [[maybe_unused]] const Library* const inherited_;
  Mutex mutex_;
  std::string provider_wish_ = "auto";  // written by prepare(), before anyone else can see the library
  std::shared_ptr<StatsPage> stats_page_ EXS_GUARDED_BY(mutex_);  // null: no shard yet, or no memory
  std::vector<std::shared_ptr<Shard>> shards_ EXS_GUARDED_BY(mutex_);
  std::size_t shards_max_ EXS_GUARDED_BY(mutex_) = 0;
  std::size_t next_shard_ EXS_GUARDED_BY(mutex_) = 0;
  std::unordered_map<void*, exs_mhandle_t> allocations_ EXS_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Socket>> lost_ EXS_GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Region>> lost_regions_ EXS_GUARDED_BY(mutex_);
  exs_stats_t totals_ EXS_GUARDED_BY(mutex_){};
};

}  // namespace exs
