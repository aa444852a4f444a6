// The process's exs_alloc memory, which peers may map: found by the key of the registration.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/drive_lock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "src/provider/provider.h"

namespace exs::shm {

// Notified when a region that it announced has gone. Thread: any.
class RegionObserver {
 public:
  virtual ~RegionObserver() = default;
  virtual void region_gone(MemoryKey key) noexcept = 0;
  // Reserves memory for so many notifications before it looks.
  virtual void expect_regions(std::size_t most) = 0;
};

// Memory that a memfd backs. The descriptor is a copy of our own, so the region may go at any time.
struct SharedRegion {
  std::span<std::byte> memory;
  UniqueFd shared;
};

// Thread: any.
class SharedRegions {
 public:
  // Without a free descriptor the memory stays unknown, which costs peers only time.
  void add(MemoryKey key, std::span<std::byte> memory, int shared_fd);
  void remove(MemoryKey key) noexcept;
  [[nodiscard]] bool has(MemoryKey key);
  // Null: not exs_alloc memory. `user` is notified when the region goes.
  std::shared_ptr<const SharedRegion> find(MemoryKey key, RegionObserver& user);
  void forget(RegionObserver& user) noexcept;

  // Around a fork. A child has what the memory held, as of any other memory, and none that the parent or a peer sees.
  void leave_to_parent() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS;
  void lock() EXS_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  void unlock() EXS_NO_THREAD_SAFETY_ANALYSIS { mutex_.unlock(); }

 private:
  struct KnownRegion {
    std::shared_ptr<SharedRegion> region;
    std::vector<RegionObserver*> users;
  };

  Mutex mutex_;
  std::unordered_map<std::uint32_t, KnownRegion> entries_ EXS_GUARDED_BY(mutex_);
};

}  // namespace exs::shm
