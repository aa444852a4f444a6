// The destination of a control operation's event (connect, accept, poll, shutdown, close).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "event/queue/event_queue.h"
#include "event/queue/kernel_descriptor.h"

namespace exs {

// A slot of `queue` is reserved for the event; null: no event is wanted.
struct ControlTarget {
  std::shared_ptr<EventQueue> queue;
  exs_ahandle_t handle = nullptr;
};

// An event of `type` about the socket with this number, for the caller to complete and push.
exs_event_t control_event(const ControlTarget& target, const KernelDescriptor& number, int type, int error);

}  // namespace exs
