// The queues of other shards that the operations of a session or an acceptor name. Each knows of the shard until the owner is gone
// (event/queue/far_shards.h).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "event/queue/event_queue.h"

namespace exs {

class FarQueues {
 public:
  explicit FarQueues(std::shared_ptr<Shard> shard) : shard_(std::move(shard)) {}
  ~FarQueues();
  FarQueues(const FarQueues&) = delete;
  FarQueues& operator=(const FarQueues&) = delete;

  // An operation names the queue. Thread: shard.
  void name(EventQueue& queue) noexcept {
    if (queue.home().get() != shard_.get()) enter(queue);
  }

 private:
  struct Named {
    const EventQueue* queue;
    std::weak_ptr<EventQueue> held;  // does not keep it from its end
  };
  void enter(EventQueue& queue) noexcept;

  const std::shared_ptr<Shard> shard_;
  std::vector<Named> named_;  // Thread: shard
};

}  // namespace exs
