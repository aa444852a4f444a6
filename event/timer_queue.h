// Deadlines of a shard's sessions, soonest first. A timer is never cancelled: whoever armed it sees by its
// own state, when it fires, that it no longer matters.
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
};

// Thread: shard.
class TimerQueue {
 public:
  void arm(std::uint64_t deadline_ns, std::weak_ptr<TimerClient> client) {
    timers_.push(Timer{deadline_ns, std::move(client)});
  }
  [[nodiscard]] std::uint64_t next_deadline_ns() const {
    return timers_.empty() ? kNoDeadline : timers_.top().deadline_ns;
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
