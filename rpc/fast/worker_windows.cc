// Windows of clients: a worker watches them while they have calls.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <new>
#include <utility>

#include "rpc/channel/clock.h"
#include "rpc/channel/close_at_once.h"
#include "rpc/fast/worker.h"

namespace exs::rpc {
namespace {

// Limits between two looks at the queue: rounds without a call, and the time for calls.
constexpr unsigned kRounds = 64;
constexpr std::int64_t kCallsNs = 5'000;
// After events the queue is checked more often, for this many looks.
constexpr unsigned kBusyLooks = 64;
// After this silence the worker waits for the bell. It still sees the bell without a sleep for a while.
constexpr std::int64_t kSilenceNs = 20'000;

}  // namespace

void Worker::add_window(Adopted& adopted) {
  if (!make_window(adopted)) return close_at_once(adopted.socket);
  const std::uint32_t index = free_places_.back();
  free_places_.pop_back();
  if (!places_[index].window->begin()) end(index);
}

bool Worker::make_window(Adopted& adopted) {
  if (!make_place()) return false;
  try {
    const std::uint32_t index = free_places_.back();
    places_[index].window =
        std::make_unique<ServerWindow>(adopted.socket, queue_, handle_of(index), std::move(adopted.client));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Worker::watch(std::uint32_t index) {
  places_[index].window->served_ns = workshop_.arrived_ns;
  if (std::find(watched_.begin(), watched_.end(), index) == watched_.end()) watched_.push_back(index);
}

bool Worker::look_at_windows(bool has_news) {
  workshop_.is_fresh = true;
  busy_looks_ = has_news ? kBusyLooks : busy_looks_ - std::min(busy_looks_, 1U);
  const unsigned rounds = busy_looks_ > 0 ? 1 : kRounds;
  std::int64_t first_ns = 0;
  for (unsigned round = 0; round < rounds && !watched_.empty(); ++round) {
    bool has_served = false;
    for (std::size_t i = 0; i < watched_.size();) {
      const std::uint32_t index = watched_[i];
      if (look_at(index, has_served)) {
        ++i;
      } else {
        end(index);
      }
    }
    if (!has_served) {
      pause_looking();
      continue;
    }
    if (busy_looks_ == 0) round = 0;
    if (first_ns == 0) first_ns = workshop_.arrived_ns;
    if (workshop_.arrived_ns - first_ns > kCallsNs) break;
  }
  let_windows_sleep();
  return !watched_.empty();
}

bool Worker::look_at(std::uint32_t index, bool& has_served) {
  try {
    return places_[index].window->look(workshop_, has_served);
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void Worker::let_windows_sleep() {
  const std::int64_t now = now_ns();
  std::erase_if(watched_, [&](std::uint32_t index) {
    ServerWindow& window = *places_[index].window;
    return now - window.served_ns > kSilenceNs && window.sleep();
  });
}

}  // namespace exs::rpc
