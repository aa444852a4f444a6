// The array of a thread that waits for the events of a queue in which none wait: what a look of its own brings goes straight there.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "event/queue/event_queue.h"

namespace exs {

// Thread: the one that looks, which holds the drive lock meanwhile.
struct CallersEvents {
  const EventQueue* queue = nullptr;
  exs_event_t* out = nullptr;
  std::size_t max = 0;
  std::size_t count = 0;  // written
  bool is_full = false;   // with `max` of them, which are at least one

  // Null: it is full, or waits for another queue. Or events wait in the queue, which come first: another thread may have driven the shard
  // after this one had seen that there were none.
  [[nodiscard]] exs_event_t* place_for(const EventQueue& of_queue) noexcept {
    if (queue != &of_queue || count == max || of_queue.has_events()) return nullptr;
    exs_event_t* const place = &out[count++];
    is_full = count == max;
    return place;
  }
};

}  // namespace exs
