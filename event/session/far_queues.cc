// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/far_queues.h"

#include <algorithm>

#include "base/contain.h"
#include "base/room.h"

namespace exs {

FarQueues::~FarQueues() {
  for (const Named& named : named_) {
    if (const auto queue = named.held.lock()) queue->far_shards().leave(*shard_);
  }
}

// Without memory the queue does not know of the shard, whose engine brings its events then.
void FarQueues::enter(EventQueue& queue) noexcept {
  const auto is_it = [&](const Named& named) { return named.queue == &queue && !named.held.expired(); };
  if (std::any_of(named_.begin(), named_.end(), is_it)) return;
  std::erase_if(named_, [](const Named& named) { return named.held.expired(); });
  contain(
      [&] {
        make_room(named_, named_.size() + 1);
        if (queue.far_shards().enter(shard_)) named_.push_back({&queue, queue.shared_from_this()});
      },
      [] {});
}

}  // namespace exs
