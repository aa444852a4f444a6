// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/return_arena.h"

#include <cerrno>
#include <map>
#include <optional>

#include "base/check.h"

namespace exs::svc {
namespace {

// All arenas of the process, by their end addresses.
struct Known {
  Mutex lock;
  std::map<std::uintptr_t, std::weak_ptr<ReturnArena>> by_end EXS_GUARDED_BY(lock);
};
Known& known() {
  static Known all;
  return all;
}

std::uintptr_t number_of(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

}  // namespace

ReturnArena::ReturnArena(std::size_t bytes, std::shared_ptr<Mutex> node_lock)
    : bytes_(bytes),
      node_lock_(std::move(node_lock)),
      space_(bytes),
      start_(static_cast<std::uint8_t*>(exs_alloc(bytes, &region_))) {}

std::shared_ptr<ReturnArena> ReturnArena::make(std::size_t bytes, std::shared_ptr<Mutex> node_lock) {
  auto arena = std::make_shared<ReturnArena>(bytes, std::move(node_lock));
  if (arena->start_ == nullptr) return {};
  Known& all = known();
  const LockGuard guard(all.lock);
  all.by_end.emplace(number_of(arena->start_) + bytes, arena);
  return arena;
}

ReturnArena::~ReturnArena() {
  if (start_ == nullptr) return;
  {
    Known& all = known();
    const LockGuard guard(all.lock);
    all.by_end.erase(number_of(start_) + bytes_);
  }
  exs_free(start_);
}

std::shared_ptr<ReturnArena> ReturnArena::at(const void* address) {
  std::shared_ptr<ReturnArena> arena;  // destroyed last, because its destructor takes the lock
  Known& all = known();
  const LockGuard guard(all.lock);
  const auto next = all.by_end.upper_bound(number_of(address));
  if (next != all.by_end.end()) arena = next->second.lock();
  return arena != nullptr && arena->contains(address) ? arena : nullptr;
}

bool ReturnArena::contains(const void* address) const noexcept {
  return number_of(address) >= number_of(start_) && number_of(address) - number_of(start_) < bytes_;
}

std::uint32_t ReturnArena::offset_of(const void* address) const noexcept {
  return static_cast<std::uint32_t>(number_of(address) - number_of(start_));
}

void* ReturnArena::take(std::size_t length_bytes) {
  const std::optional<std::size_t> start = space_.take(length_bytes);
  return start ? start_ + *start : nullptr;
}

Status ReturnArena::give_back(const void* slot) {
  const std::size_t start = offset_of(slot);
  if (!space_.is_slot(start)) return Status(EINVAL);
  if (lent_.contains(start)) return Status(EBUSY);
  space_.give_back(start);
  return {};
}

Status ReturnArena::lend(const exs_iovec_t& piece) {
  const std::optional<std::size_t> slot = space_.slot_of(offset_of(piece.iov_base), piece.iov_len);
  if (!slot) return Status(EINVAL);
  return lent_.insert(*slot).second ? Status() : Status(EBUSY);
}

void ReturnArena::let_go(const exs_iovec_t& piece) {
  const std::optional<std::size_t> slot = space_.slot_of(offset_of(piece.iov_base), piece.iov_len);
  EXS_CHECK(slot.has_value());  // a lent slot is not given back
  const std::size_t taken_back = lent_.erase(*slot);
  EXS_CHECK(taken_back == 1);
}

}  // namespace exs::svc
