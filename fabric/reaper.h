// Of a completion queue or counter: the endpoints whose ends it tells of, and how a thread waits for those. An end is found by
// whoever looks, and told to the queues and counters it belongs to.
#pragma once

#include <sys/epoll.h>

#include <atomic>
#include <vector>

#include "fabric/short_lock.h"
#include "fabric/signal.h"

namespace exs::fabric {

class Endpoint;

// Thread: any.
class Reaper {
 public:
  explicit Reaper(bool can_wait);
  ~Reaper();
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // An endpoint may come again, and leaves at once.
  void add(Endpoint& endpoint);
  void remove(Endpoint& endpoint) noexcept;
  [[nodiscard]] bool is_used() noexcept;

  // Looks once, unless another thread does.
  void reap();
  // The next wake() or end of an endpoint's transfer makes the descriptor readable. False: something has ended.
  bool arm();
  // Something is there to be read, or a thread is to wake.
  void wake() noexcept {
    if (is_armed_.load(std::memory_order_seq_cst) && is_armed_.exchange(false)) wake_always();
  }
  void wake_always() noexcept {
    signal_.raise();
    is_raised_.store(true);
  }
  // Sleeps until the descriptor is readable. 0: at the end of the limit; negative: an error.
  int sleep(int timeout_ms) const noexcept;
  [[nodiscard]] bool can_wait() const noexcept { return epoll_ >= 0; }
  [[nodiscard]] int descriptor() const noexcept { return epoll_; }

 private:
  const int epoll_;
  Signal signal_;
  std::atomic<bool> is_armed_{false};
  std::atomic<bool> is_raised_{
      false};  // set after the signal is, so one that is raised is lowered in the end
  ShortLock reaping_;
  std::vector<Endpoint*> endpoints_;  // under reaping_
};

}  // namespace exs::fabric
