// What a port shares with its links and listeners.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/provider/support/completion_queue.h"
#include "src/provider/support/poller.h"
#include "src/provider/verbs/cm_channel.h"
#include "src/provider/verbs/device.h"
#include "src/provider/verbs/queue_pair.h"
#include "src/provider/verbs/queues.h"

namespace exs::verbs {

class VerbsLink;

// A closed connection whose last messages have not left yet.
struct Leaving {
  std::shared_ptr<CmChannel> channel;
  CmId id;
  std::unique_ptr<QueuePair> queue_pair;  // goes before its id
  std::uint64_t until_ns = 0;
};

// Thread: shard.
struct PortContext {
  PortContext(Poller&& from, Devices& all) : poller(std::move(from)), devices(all) {}

  Poller poller;
  CompletionQueue completions;
  Devices& devices;
  std::uint64_t arrivals = 0;
  std::uint64_t now_ns = 0;
  std::shared_ptr<CmChannel> channel;  // made with the first connection
  std::vector<std::unique_ptr<Queues>> queues;
  std::vector<Leaving> leaving;
  std::vector<VerbsLink*> links;     // all that are not over
  std::vector<VerbsLink*> replying;  // accepted, and the peer is to be told
  std::vector<VerbsLink*> ending;    // at the next progress()
  std::vector<VerbsLink*> timed;     // with something to do at a time
};

}  // namespace exs::verbs
