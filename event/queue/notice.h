// An event that stands for several of its kind: uses of a persistent operation by the peer, or late
// operations. What happens while the event waits in its queue is added to it. A notice holds one slot of the
// queue from create() to end(), so the queue never overflows.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "event/queue/event_queue.h"
#include "event/queue/summed_event.h"

namespace exs {

class Notice : public SummedEvent {
 public:
  // `event`: what all events of the notice have in common. Null: no slot is free. Thread: any.
  static std::shared_ptr<Notice> create(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
                                        const std::shared_ptr<KernelDescriptor>& number,
                                        Keeps keeps = Keeps::kSum);

  // --- Thread: shard ---
  // Pushes an event with `usage`, or adds `usage` to the event that waits.
  void report(const proto::Usage& usage);
  // Ends the notice. The slot is given back when no event waits any more. Must be called at least once.
  void end();

 private:
  Notice(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
         const std::shared_ptr<KernelDescriptor>& number, Keeps keeps)
      : SummedEvent(event, number, keeps), queue_(std::move(queue)) {}

  std::shared_ptr<EventQueue> queue_;  // until end(): a waiting event refers to the notice
};

}  // namespace exs
