// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/reaper.h"

#include <poll.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <mutex>
#include <system_error>

#include "base/clock.h"
#include "base/kernel.h"
#include "fabric/endpoint.h"

namespace exs::fabric {
namespace {

int make_set() {
  const int set = kernel::epoll_create1(EPOLL_CLOEXEC);
  if (set < 0) throw std::system_error(errno, std::generic_category(), "epoll_create1");
  return set;
}

Status watch(int set, int descriptor) noexcept {
  if (descriptor < 0) return Status(errno);
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  return kernel_status(kernel::epoll_ctl(set, EPOLL_CTL_ADD, descriptor, &wanted));
}

// Rounds up, so that a wait does not end early and then spin.
int ms_until(std::uint64_t end_ns) noexcept {
  if (end_ns == kNeverNs) return -1;
  const std::uint64_t left_ns = time_left(end_ns, monotonic_ns());
  return static_cast<int>(
      std::min<std::uint64_t>(left_ns / kNsPerMs + (left_ns % kNsPerMs == 0 ? 0 : 1), INT_MAX));
}

}  // namespace

Reaper::Reaper(bool can_wait) : epoll_(can_wait ? make_set() : -1), signal_(can_wait) {
  if (!can_wait) return;
  if (const Status watched = watch(descriptor(), signal_.descriptor()); !watched.ok())
    throw std::system_error(watched.error(), std::generic_category(), "epoll_ctl");
}

Status Reaper::add(Endpoint& endpoint) {
  const LockGuard guard(reaping_);
  if (std::find(endpoints_.begin(), endpoints_.end(), &endpoint) != endpoints_.end()) return {};
  endpoints_.push_back(&endpoint);
  if (!can_wait()) return {};
  const Status watched = watch(descriptor(), endpoint.descriptor());
  if (!watched.ok()) endpoints_.pop_back();
  return watched;
}

void Reaper::remove(Endpoint& endpoint) noexcept {
  const LockGuard guard(reaping_);
  if (std::erase(endpoints_, &endpoint) == 0 || !can_wait()) return;
  kernel::epoll_ctl(descriptor(), EPOLL_CTL_DEL, endpoint.descriptor(), nullptr);
}

bool Reaper::is_used() noexcept {
  const LockGuard guard(reaping_);
  return !endpoints_.empty();
}

void Reaper::reap() {
  if (!reaping_.try_lock()) return;
  const LockGuard guard(reaping_, std::adopt_lock);
  for (Endpoint* const endpoint : endpoints_) endpoint->reap();
}

bool Reaper::arm() {
  if (is_raised_.exchange(false)) signal_.lower();
  is_armed_.store(true, std::memory_order_seq_cst);
  const LockGuard guard(reaping_);
  for (Endpoint* const endpoint : endpoints_) {
    if (!endpoint->arm()) return false;
  }
  return true;
}

Status Reaper::sleep_until(std::uint64_t end_ns) const noexcept {
  pollfd wanted{descriptor(), POLLIN, 0};
  return kernel::poll(&wanted, 1, ms_until(end_ns)) < 0 ? Status(errno) : Status();
}

}  // namespace exs::fabric
