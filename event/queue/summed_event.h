// The part of a notice that its queue knows: the event for all that has happened since the last one was dequeued.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "event/queue/kernel_descriptor.h"
#include "exs/exs.h"
#include "src/proto/operation.h"

namespace exs {

// Requires the mutex of the queue, but for its constructor.
class SummedEvent : public std::enable_shared_from_this<SummedEvent> {
 public:
  // The event reports the sum of all uses, or the last use.
  enum class Keeps : std::uint8_t { kSum, kLatest };
  SummedEvent(const SummedEvent&) = delete;
  SummedEvent& operator=(const SummedEvent&) = delete;

 protected:
  SummedEvent(const exs_event_t& event, const std::shared_ptr<KernelDescriptor>& number, Keeps keeps)
      : event_(event), number_(number.get()), keeps_(keeps) {}
  ~SummedEvent() = default;

 private:
  friend class EventQueue;

  void add(const proto::Usage& usage);
  exs_event_t take();

  const exs_event_t event_;
  const DescriptorHold number_;
  const Keeps keeps_;
  proto::Usage unreported_;
  bool waits_ = false;  // an event is in the queue
  bool ended_ = false;  // no more will come
};

}  // namespace exs
