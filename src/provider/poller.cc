// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/poller.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/kernel.h"
#include "src/log/log.h"

namespace exs {
namespace {

// Owners are aligned, so their addresses never have it.
constexpr std::uint64_t kWatchBit = 1;
static_assert(alignof(Pollable) > kWatchBit);

}  // namespace

Result<Poller> Poller::open() {
  const int epoll = kernel::epoll_create1(EPOLL_CLOEXEC);
  if (epoll < 0) {
    const int error = errno;
    log(LogLevel::kError, "epoll_create1 failed: {}", std::strerror(error));
    return failure(error);
  }
  return Poller(epoll);
}

Poller::~Poller() {
  if (epoll_ >= 0) kernel::close(epoll_);
}

Status Poller::add(int descriptor, std::uint32_t events, Pollable& owner) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &owner;
  if (kernel::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0) {
    ++owners_;
    return {};
  }
  const int error = errno;
  log(LogLevel::kError, "epoll_ctl failed for descriptor {}: {}", descriptor, std::strerror(error));
  return Status(error);
}

void Poller::change(int descriptor, std::uint32_t events, Pollable& owner) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &owner;
  if (kernel::epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event) != 0) {
    log(LogLevel::kError, "epoll_ctl failed for descriptor {}: {}", descriptor, std::strerror(errno));
  }
}

bool Poller::remove(int descriptor) noexcept {
  if (kernel::epoll_ctl(epoll_, EPOLL_CTL_DEL, descriptor, nullptr) != 0) return false;
  if (owners_ > 0) --owners_;
  return true;
}

Status Poller::watch(int descriptor, std::uint32_t events, std::uint64_t token) noexcept {
  epoll_event event{};
  event.events = events | EPOLLONESHOT;
  event.data.u64 = token << 1 | kWatchBit;
  if (kernel::epoll_ctl(epoll_, EPOLL_CTL_MOD, descriptor, &event) == 0) return {};
  if (errno == ENOENT && kernel::epoll_ctl(epoll_, EPOLL_CTL_ADD, descriptor, &event) == 0) return {};
  return Status(errno);
}

std::optional<std::uint64_t> Poller::watch_token(const epoll_event& event) noexcept {
  if ((event.data.u64 & kWatchBit) == 0) return std::nullopt;
  return event.data.u64 >> 1;
}

std::span<epoll_event> Poller::look(std::span<epoll_event> room) noexcept {
  const int count = kernel::epoll_wait(epoll_, room.data(), static_cast<int>(room.size()), 0);
  return room.first(count > 0 ? static_cast<std::size_t>(count) : 0);
}

}  // namespace exs
