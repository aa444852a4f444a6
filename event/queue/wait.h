// How a thread waits for events: it looks into its queue, drives the queue's home shard, spins as the queue's
// wait mode says, and sleeps as leader or follower.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/read_section.h"
#include "event/engine/wait_limit.h"
#include "event/queue/event_queue.h"

namespace exs {

// Takes at most `max` events once `min` are there, or whatever is there when the limit is reached. EINTR: a
// signal was caught and fewer than `min` events are there; none was taken. EBADF: the queue was closed
// meanwhile. `section`: the one in which the caller found the queue, left by a wait of more than a moment;
// null: the caller holds the queue. Thread: any.
Status take_events(EventQueue& queue, exs_event_t* out, std::size_t min, std::size_t max, WaitLimit limit,
                   ReadSection* section, std::size_t& taken);
// The steady case of it, for at least one event: takes those that wait, or that a brief look brings. 0: there are none, or
// take_events() has to look. In a ReadSection, or with the queue held.
std::size_t take_at_once(EventQueue& queue, exs_event_t* out, std::size_t max) noexcept;
// For a caller that holds the queue.
inline Result<std::size_t> wait_for_events(EventQueue& queue, exs_event_t* out, std::size_t min,
                                           std::size_t max, WaitLimit limit) {
  std::size_t taken = 0;
  if (const Status status = take_events(queue, out, min, max, limit, nullptr, taken); !status.ok())
    return failure(status);
  return taken;
}

}  // namespace exs
