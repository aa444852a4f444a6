// SPDX-License-Identifier: BSD-2-Clause
#include "event/message/bell.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/kernel.h"

namespace exs {
namespace {

bool watch(const UniqueFd& set, int descriptor) noexcept {
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  return kernel::epoll_ctl(set.get(), EPOLL_CTL_ADD, descriptor, &wanted) == 0;
}

}  // namespace

Result<std::unique_ptr<Bell>> Bell::make(std::shared_ptr<Shard> shard) {
  UniqueFd set(kernel::epoll_create1(EPOLL_CLOEXEC));
  UniqueFd ended(set.valid() ? kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK) : -1);
  if (!ended.valid() || !watch(set, ended.get())) return failure(errno);
  return std::unique_ptr<Bell>(new Bell(std::move(shard), std::move(set), std::move(ended)));
}

bool Bell::add_ports() {
  shard_->assert_held();
  WatchedPorts watched = shard_->watched_ports();
  const auto descriptors = watched.descriptors();
  while (ports_ < descriptors.size() && watch(set_, descriptors[ports_].fd)) ++ports_;
  return ports_ == descriptors.size();
}

void Bell::awake() {
  shard_->assert_held();
  if (std::exchange(is_asleep_, false)) shard_->end_outside_sleep();
}

void Bell::silence() {
  awake();
  is_armed_ = false;
  if (!std::exchange(is_rung_, false)) return;
  std::uint64_t rings = 0;
  [[maybe_unused]] const auto taken = kernel::read(ended_.get(), &rings, sizeof rings);
}

bool Bell::arm() {
  shard_->assert_held();
  is_armed_ = true;
  if (!add_ports()) return true;  // no memory: the engine sees to arrivals
  is_asleep_ = shard_->begin_outside_sleep();
  // The step may have ended requests; then ring() has already disarmed the bell.
  if (!is_armed_) awake();
  return is_asleep_ || !is_armed_;
}

void Bell::ring() {
  if (!std::exchange(is_armed_, false)) return;
  awake();
  is_rung_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(ended_.get(), &one, sizeof one);
}

}  // namespace exs
