#include "src/provider/shm/regions.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "src/base/kernel.h"
#include "src/base/log.h"

namespace exs::shm {

void Regions::add(MemoryKey key, std::span<std::byte> memory, int shared_fd) {
  UniqueFd copy(kernel::fcntl(shared_fd, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) {
    log(LogLevel::kWarn,
        "shm: no descriptor for a region that peers could map: %s; they read it by other means (raise "
        "RLIMIT_NOFILE)",
        std::strerror(errno));
    return;
  }
  auto region = std::make_shared<const Region>(Region{memory, std::move(copy)});
  LockGuard guard(mutex_);
  entries_[key.value] = {std::move(region), {}};
}

void Regions::remove(MemoryKey key) noexcept {
  LockGuard guard(mutex_);
  const auto found = entries_.find(key.value);
  if (found == entries_.end()) return;
  for (RegionUser* user : found->second.users) user->region_gone(key);
  entries_.erase(found);
}

std::shared_ptr<const Region> Regions::find(MemoryKey key, RegionUser& user) {
  LockGuard guard(mutex_);
  const auto found = entries_.find(key.value);
  if (found == entries_.end()) return nullptr;
  std::vector<RegionUser*>& users = found->second.users;
  if (std::find(users.begin(), users.end(), &user) == users.end()) users.push_back(&user);
  return found->second.region;
}

void Regions::forget(RegionUser& user) noexcept {
  LockGuard guard(mutex_);
  for (auto& [key, entry] : entries_) std::erase(entry.users, &user);
}

}  // namespace exs::shm
