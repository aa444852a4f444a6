// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/region.h"

#include <new>
#include <utility>

#include "event/engine/shard.h"

namespace exs {
namespace {

// Runs `look` while the shard counts nothing.
template <typename Look>
void inspect(Shard& home, Look&& look) noexcept try {
  home.inspect(std::forward<Look>(look));
} catch (const std::bad_alloc&) {
  // For a command that another thread has left to this one. What was to be seen has been seen.
}

}  // namespace

bool Region::retire_idle() noexcept {
  std::int64_t users = users_.load(std::memory_order_relaxed);
  while (users == 0 || users == kAwaited) {
    if (users_.compare_exchange_weak(users, kRetired, std::memory_order_seq_cst)) return true;
  }
  return false;
}

bool Region::retire() noexcept {
  Shard* const home = home_.load(std::memory_order_seq_cst);
  bool is_retired = false;
  if (home != nullptr) {
    inspect(*home, [&] { is_retired = uses_here_.load(std::memory_order_relaxed) == 0 && retire_idle(); });
    return is_retired;
  }
  if (!retire_idle()) return false;
  // A shard may have come in the meantime. Whatever it does later finds the region retired.
  Shard* const late = home_.load(std::memory_order_seq_cst);
  if (late == nullptr) return true;
  inspect(*late, [&] { is_retired = uses_here_.load(std::memory_order_relaxed) == 0; });
  if (!is_retired) users_.store(0, std::memory_order_release);
  return is_retired;
}

// The uses that the shard has counted join the others, and those that end from now on are of both.
void Region::count_all_alike() noexcept {
  Shard* const home = home_.load(std::memory_order_seq_cst);
  if (home == nullptr) return;
  inspect(*home, [&] {
    users_.fetch_add(uses_here_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    uses_here_.store(0, std::memory_order_relaxed);
  });
}

bool Region::retire_when_idle() noexcept {
  while (!retire()) {
    if (users_.load(std::memory_order_relaxed) < 0) return false;
    count_all_alike();
    const std::int64_t users = users_.fetch_or(kAwaited, std::memory_order_acq_rel) | kAwaited;
    if (users < 0) return false;
    if (users != kAwaited) users_.wait(users, std::memory_order_acquire);
  }
  return true;
}

}  // namespace exs
