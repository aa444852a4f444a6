// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/shared_regions.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "src/log/log.h"

namespace exs::shm {

void SharedRegions::add(MemoryKey key, std::span<std::byte> memory, int shared_fd) {
  UniqueFd copy(kernel::fcntl(shared_fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    log(LogLevel::kWarn,
        "shm: no descriptor for a region that peers could map: {}; they read it by other means (raise "
        "RLIMIT_NOFILE)",
        std::strerror(errno));
    return;
  }
  auto region = std::make_shared<SharedRegion>(SharedRegion{memory, std::move(copy)});
  LockGuard guard(mutex_);
  entries_[key.value] = {std::move(region), {}};
}

void SharedRegions::remove(MemoryKey key) noexcept {
  LockGuard guard(mutex_);
  const auto found = entries_.find(key.value);
  if (found == entries_.end()) return;
  for (RegionObserver* user : found->second.users) user->region_gone(key);
  entries_.erase(found);
}

bool SharedRegions::has(MemoryKey key) {
  LockGuard guard(mutex_);
  return entries_.contains(key.value);
}

std::shared_ptr<const SharedRegion> SharedRegions::find(MemoryKey key, RegionObserver& user) {
  LockGuard guard(mutex_);
  const auto found = entries_.find(key.value);
  if (found == entries_.end()) return nullptr;
  std::vector<RegionObserver*>& users = found->second.users;
  if (std::find(users.begin(), users.end(), &user) == users.end()) users.push_back(&user);
  return found->second.region;
}

// The memory is absent in a child (exs_alloc), so the child maps a private view of it. Where that fails, a
// use raises SIGSEGV.
void SharedRegions::leave_to_parent() noexcept {
  for (const auto& [key, entry] : entries_) {
    const std::span<std::byte> memory = entry.region->memory;
    kernel::mmap(memory.data(), memory.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
                 entry.region->shared.get(), 0);
    entry.region->shared.reset();  // by which the memory itself could be mapped
  }
  entries_.clear();
}

void SharedRegions::forget(RegionObserver& user) noexcept {
  LockGuard guard(mutex_);
  for (auto& [key, entry] : entries_) std::erase(entry.users, &user);
}

}  // namespace exs::shm
