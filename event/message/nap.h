// The sleep of a thread that waits for a request, a message or the end of a peer: on an event queue of its own, which the shard rings.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "event/queue/event_queue.h"
#include "event/queue/wait.h"

namespace exs {

class Nap {
 public:
  explicit Nap(std::shared_ptr<Shard> shard);

  // Call it before the shard may ring.
  void begin() noexcept;
  // Ends the sleep, now or as it begins. Thread: shard.
  void ring();
  // EINTR: a signal was caught. Ok also at the end of the limit.
  Status sleep(WaitLimit limit);
  // Call it when the shard rings no longer.
  void end();

 private:
  const std::shared_ptr<EventQueue> queue_;
  bool is_rung_ = false;  // thread: shard, from begin() to end()
  bool is_over_ = false;  // the event was taken
};

}  // namespace exs
