// A burst: the sends that a thread posts in a row before a thread drives the shard. The connection of a
// stream combines the small sends of a burst and leaves it to this class when a burst ends.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "event/engine/shard.h"

namespace exs {

// Thread: shard.
class Burst {
 public:
  // `client` is called at the end of each burst.
  Burst(Shard& shard, BurstClient& client) : shard_(shard), client_(client) {}

  // Call it before each send. True: the send begins another burst, so the bytes that the connection holds
  // back must leave first. `combines`: the connection holds bytes back.
  [[nodiscard]] bool begins_with_next_send(bool combines);
  // Counts the send as part of the burst.
  void extend();
  // The shard has ended the burst.
  void ended();
  void leave();

 private:
  Shard& shard_;
  BurstClient& client_;
  bool begun_ = false;
  std::uint64_t at_ns_ = 0;  // when the burst began, or the last one ended
};

}  // namespace exs
