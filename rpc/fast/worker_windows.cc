// Windows of clients: a worker watches them while they have calls.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/clock.h"
#include "rpc/channel/close_socket.h"
#include "rpc/fast/worker.h"

namespace exs::rpc {
namespace {

// Limits between two looks at the queue: rounds without a call, and the time for calls.
constexpr unsigned kRounds = 64;
constexpr std::uint64_t kCallsNs = 5'000;
// After events the queue is checked more often, for this many looks.
constexpr unsigned kBusyLooks = 64;
// After this silence the worker waits for the bell. It still sees the bell without a sleep for a while.
constexpr std::uint64_t kSilenceNs = 20'000;

}  // namespace

void ServerWorker::add_window(AdoptedSocket& adopted) {
  if (!make_window(adopted)) return close_at_once(adopted.socket);
  const std::uint32_t index = take_place();
  if (!places_[index].window->start_mapping().ok()) end_place(index);
}

bool ServerWorker::make_window(AdoptedSocket& adopted) {
  if (!make_place()) return false;
  try {
    const std::uint32_t index = free_places_.back();
    places_[index].window =
        std::make_unique<WatchedWindow>(adopted.socket, queue_, handle_of(index), std::move(adopted.client));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

void ServerWorker::watch_window(std::uint32_t index) {
  places_[index].window->served_ns = memory_.arrived_ns;
  if (std::find(watched_.begin(), watched_.end(), index) == watched_.end()) watched_.push_back(index);
}

bool ServerWorker::look_at_windows(bool has_news) {
  memory_.is_fresh = true;
  busy_looks_ = has_news ? kBusyLooks : busy_looks_ - std::min(busy_looks_, 1U);
  const unsigned rounds = busy_looks_ > 0 ? 1 : kRounds;
  std::uint64_t first_ns = 0;
  for (unsigned round = 0; round < rounds && !watched_.empty(); ++round) {
    bool has_served = false;
    for (std::size_t i = 0; i < watched_.size();) {
      const std::uint32_t index = watched_[i];
      if (look_at_window(index, has_served).ok()) {
        ++i;
      } else {
        end_place(index);
      }
    }
    if (!has_served) {
      pause_looking();
      continue;
    }
    if (busy_looks_ == 0) round = 0;
    if (first_ns == 0) first_ns = memory_.arrived_ns;
    if (memory_.arrived_ns - first_ns > kCallsNs) break;
  }
  let_windows_sleep();
  return !watched_.empty();
}

Status ServerWorker::look_at_window(std::uint32_t index, bool& has_served) {
  try {
    return places_[index].window->look_for_calls(memory_, has_served);
  } catch (const std::bad_alloc&) {
    return Status(ENOMEM);
  }
}

void ServerWorker::let_windows_sleep() {
  const std::uint64_t now = monotonic_ns();
  std::erase_if(watched_, [&](std::uint32_t index) {
    WatchedWindow& window = *places_[index].window;
    return now > window.served_ns && now - window.served_ns > kSilenceNs && window.fall_asleep();
  });
}

}  // namespace exs::rpc
