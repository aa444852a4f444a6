// An event that stands for several of its kind: uses of a persistent operation by the peer, or late
// operations. What happens while the event waits in its queue is added to it. A notice holds one slot of the
// queue from create() to end(), so the queue never overflows.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "event/queue/event_queue.h"
#include "src/proto/operation.h"

namespace exs {

class Notice : public std::enable_shared_from_this<Notice> {
 public:
  // The event reports the sum of all uses, or the last use.
  enum class Keeps : std::uint8_t { kSum, kLatest };
  // `event`: what all events of the notice have in common. Null: no slot is free. Thread: any.
  static std::shared_ptr<Notice> create(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
                                        std::shared_ptr<KernelDescriptor> number, Keeps keeps = Keeps::kSum);
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

  // --- Thread: shard ---
  // Pushes an event with `usage`, or adds `usage` to the event that waits.
  void tell(const proto::Usage& usage);
  // Ends the notice. The slot is given back when no event waits any more. Must be called at least once.
  void end();

 private:
  friend class EventQueue;
  Notice(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
         std::shared_ptr<KernelDescriptor> number, Keeps keeps)
      : queue_(std::move(queue)), event_(event), number_(std::move(number)), keeps_(keeps) {}

  // Require the mutex of the queue.
  void add(const proto::Usage& usage);
  exs_event_t take();

  std::shared_ptr<EventQueue> queue_;  // until end(): a waiting event refers to the notice
  const exs_event_t event_;
  const std::shared_ptr<KernelDescriptor> number_;
  const Keeps keeps_;
  // Guarded by the mutex of the queue.
  proto::Usage untold_;
  bool waits_ = false;  // an event is in the queue
  bool ended_ = false;
};

}  // namespace exs
