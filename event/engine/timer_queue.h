// Timers of a shard's sessions, soonest first. A timer cannot be cancelled: when it is the next one, the
// queue asks its client whether it is still needed, and drops it if not.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <queue>
#include <vector>

#include "src/provider/provider.h"

namespace exs {

class TimerClient {
 public:
  virtual ~TimerClient() = default;
  // Thread: shard. May be late, never early.
  virtual void timer_fired(std::uint64_t now_ns) = 0;
  [[nodiscard]] virtual bool still_wants(std::uint64_t /*deadline_ns*/) const { return true; }
};

// Thread: shard.
class TimerQueue {
 public:
  void arm(std::uint64_t deadline_ns, std::weak_ptr<TimerClient> client) {
    timers_.push(Timer{deadline_ns, std::move(client)});
  }
  // kNoDeadline: no timer is needed, so idle connections wake no thread.
  [[nodiscard]] std::uint64_t next_deadline_ns() {
    while (!timers_.empty()) {
      const auto client = timers_.top().client.lock();
      if (client && client->still_wants(timers_.top().deadline_ns)) return timers_.top().deadline_ns;
      timers_.pop();
    }
    return kNoDeadline;
  }
  // True: no timer can be due yet. This cheap check is made whenever the network is polled.
  [[nodiscard]] bool is_quiet(std::uint64_t now_ns) const noexcept {
    return timers_.empty() || timers_.top().deadline_ns > now_ns;
  }
  void fire(std::uint64_t now_ns) {
    while (next_deadline_ns() <= now_ns) {
      const auto client = timers_.top().client.lock();
      timers_.pop();
      if (client) client->timer_fired(now_ns);
    }
  }
  void clear() { timers_ = {}; }

 private:
  struct Timer {
    std::uint64_t deadline_ns;
    std::weak_ptr<TimerClient> client;
    friend bool operator<(const Timer& a, const Timer& b) { return a.deadline_ns > b.deadline_ns; }
  };
  std::priority_queue<Timer> timers_;
};

}  // namespace exs
