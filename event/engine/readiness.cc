// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/readiness.h"

#include <array>
#include <utility>

#include "base/io_uring.h"

namespace exs {
namespace {

constexpr std::size_t kEventsMax = 256;

}  // namespace

Result<std::unique_ptr<Readiness>> Readiness::open() {
  Result<Poller> poller = Poller::open();
  if (!poller) return failure(poller.error());
  return std::unique_ptr<Readiness>(new Readiness(std::move(*poller), io_uring_is_allowed()));
}

Status Readiness::watch(int descriptor, std::uint32_t events, std::uint64_t token) {
  ready_.reserve(ready_.count() + watched_.size() + 1);  // a one-shot report must not be lost
  const bool is_new = watched_.insert(token).second;
  const Status status = poller_.watch(descriptor, events, token);
  if (!status.ok() && is_new) watched_.erase(token);
  return status;
}

void Readiness::unwatch(int descriptor, std::uint64_t token) {
  if (poller_.remove(descriptor)) watched_.erase(token);
}

void Readiness::progress(std::uint64_t /*now_ns*/) {
  if (watched_.empty()) return;
  std::array<epoll_event, kEventsMax> room;
  for (const epoll_event& event : poller_.look(room)) {
    const std::uint64_t token = *Poller::watch_token(event);
    ++arrivals_;
    watched_.erase(token);
    ready_.push_back({CompletionKind::kReadiness, {}, event.events, token, 0});
  }
}

std::size_t Readiness::poll(std::span<Completion> out) {
  std::size_t count = 0;
  for (; count < out.size() && !ready_.empty(); ++count) out[count] = ready_.pop_front();
  return count;
}

}  // namespace exs
