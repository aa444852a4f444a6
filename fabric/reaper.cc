// SPDX-License-Identifier: BSD-2-Clause
#include "fabric/reaper.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <system_error>

#include "fabric/endpoint.h"

namespace exs::fabric {

Reaper::Reaper(bool can_wait) : epoll_(can_wait ? epoll_create1(EPOLL_CLOEXEC) : -1), signal_(can_wait) {
  if (!can_wait) return;
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  if (epoll_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, signal_.descriptor(), &wanted) != 0)
    throw std::system_error(errno, std::generic_category(), "epoll");
}

Reaper::~Reaper() {
  if (epoll_ >= 0) ::close(epoll_);
}

void Reaper::add(Endpoint& endpoint) {
  const std::lock_guard guard(reaping_);
  if (std::find(endpoints_.begin(), endpoints_.end(), &endpoint) != endpoints_.end()) return;
  endpoints_.push_back(&endpoint);
  if (!can_wait()) return;
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  const int descriptor = endpoint.descriptor();
  if (descriptor < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &wanted) != 0) {
    const int error = errno;
    endpoints_.pop_back();
    throw std::system_error(error, std::generic_category(), "epoll_ctl");
  }
}

void Reaper::remove(Endpoint& endpoint) noexcept {
  const std::lock_guard guard(reaping_);
  if (std::erase(endpoints_, &endpoint) == 0 || !can_wait()) return;
  epoll_ctl(epoll_, EPOLL_CTL_DEL, endpoint.descriptor(), nullptr);
}

bool Reaper::is_used() noexcept {
  const std::lock_guard guard(reaping_);
  return !endpoints_.empty();
}

void Reaper::reap() {
  const std::unique_lock lock(reaping_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (Endpoint* const endpoint : endpoints_) endpoint->reap();
}

bool Reaper::arm() {
  if (is_raised_.exchange(false)) signal_.lower();
  is_armed_.store(true, std::memory_order_seq_cst);
  const std::lock_guard guard(reaping_);
  for (Endpoint* const endpoint : endpoints_) {
    if (!endpoint->arm()) return false;
  }
  return true;
}

int Reaper::sleep(int timeout_ms) const noexcept {
  pollfd wanted{epoll_, POLLIN, 0};
  const int ready = ::poll(&wanted, 1, timeout_ms);
  return ready < 0 ? -errno : ready;
}

}  // namespace exs::fabric
