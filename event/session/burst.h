// The sends that a thread posts in a row, before anybody looks at the network: the connection of a stream
// combines the small ones among them, and need not know how long a burst may last.
#pragma once

#include <cstdint>

#include "event/engine/shard.h"

namespace exs {

// Thread: shard.
class Burst {
 public:
  // `client` hears of the end of each burst.
  Burst(Shard& shard, BurstClient& client) : shard_(shard), client_(client) {}

  // Before each send. True: it begins another burst, so what the connection holds back must leave first.
  // `combines`: the connection holds bytes back.
  [[nodiscard]] bool begins_with_next_send(bool combines);
  // The send belongs to the burst.
  void extend();
  // The shard has ended it.
  void ended();
  void leave();

 private:
  Shard& shard_;
  BurstClient& client_;
  bool begun_ = false;
  std::uint64_t at_ns_ = 0;  // when the burst began, or the last one ended
};

}  // namespace exs
