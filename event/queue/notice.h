// An event that stands for everything of its kind that happens while it waits in its queue: uses of a
// persistent operation by the peer, operations that are late. Holds one slot of the queue from create() to
// end(), so the queue never overflows, however often something happens.
#pragma once

#include <memory>

#include "event/queue/event_queue.h"
#include "src/proto/operation.h"

namespace exs {

class Notice : public std::enable_shared_from_this<Notice> {
 public:
  // What an event tells that stands for several: the sum, or the last one.
  enum class Keeps : std::uint8_t { kSum, kLatest };
  // `event`: what all its events have in common. Null: no slot is free. Thread: any.
  static std::shared_ptr<Notice> create(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
                                        std::shared_ptr<KernelDescriptor> number, Keeps keeps = Keeps::kSum);
  Notice(const Notice&) = delete;
  Notice& operator=(const Notice&) = delete;

  // --- Thread: the one at a time that owns it; a shard ---
  // An event with `usage` goes into the queue; while one waits there, it takes `usage` in.
  void tell(const proto::Usage& usage);
  // No further event: the slot is given back, once an event that waits has been taken. Must be called; more
  // than once is fine.
  void end();

 private:
  friend class EventQueue;
  Notice(std::shared_ptr<EventQueue> queue, const exs_event_t& event,
         std::shared_ptr<KernelDescriptor> number, Keeps keeps)
      : queue_(std::move(queue)), event_(event), number_(std::move(number)), keeps_(keeps) {}

  // Both with the mutex of the queue held.
  void add(const proto::Usage& usage);
  exs_event_t take();

  std::shared_ptr<EventQueue> queue_;  // until end(): a waiting event refers back to us
  const exs_event_t event_;
  const std::shared_ptr<KernelDescriptor> number_;
  const Keeps keeps_;
  // Guarded by the mutex of the queue.
  proto::Usage untold_;
  bool waits_ = false;  // an event is in the queue
  bool ended_ = false;
};

}  // namespace exs
