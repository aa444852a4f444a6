// The endpoints that a completion queue or counter reports for, and how a thread waits for them. Any thread may find a completion, and
// reports it to the queues and counters that it belongs to.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/drive_lock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "fabric/signal.h"

namespace exs::fabric {

class Endpoint;

// Thread: any.
class Reaper {
 public:
  // Throws std::system_error if there is no descriptor left.
  explicit Reaper(bool can_wait);
  Reaper(const Reaper&) = delete;
  Reaper& operator=(const Reaper&) = delete;

  // Adding an endpoint again has no effect; one remove() undoes all.
  Status add(Endpoint& endpoint);
  void remove(Endpoint& endpoint) noexcept;
  [[nodiscard]] bool is_used() noexcept;

  // Looks once, unless another thread is looking.
  void reap();
  // After this, the next wake() or completion makes the descriptor readable. Returns false if something has completed already.
  bool arm();
  // Called when there is something to read, or a thread has to wake.
  void wake() noexcept {
    if (is_armed_.load(std::memory_order_seq_cst) && is_armed_.exchange(false)) wake_always();
  }
  void wake_always() noexcept {
    signal_.raise();
    is_raised_.store(true);
  }
  // Sleeps until the descriptor is readable, or until `end_ns`, which counts as monotonic_ns() does.
  [[nodiscard]] Status sleep_until(std::uint64_t end_ns) const noexcept;
  [[nodiscard]] bool can_wait() const noexcept { return epoll_.valid(); }
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }

 private:
  const UniqueFd epoll_;
  Signal signal_;
  std::atomic<bool> is_armed_{false};
  // Set after the signal is raised, so a raised one is lowered in the end.
  std::atomic<bool> is_raised_{false};
  LeafLock reaping_;
  std::vector<Endpoint*> endpoints_ EXS_GUARDED_BY(reaping_);
};

}  // namespace exs::fabric
