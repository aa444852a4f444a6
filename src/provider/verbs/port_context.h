// The common state of a port, its links and its listeners.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "src/provider/completion_queue.h"
#include "src/provider/countdown.h"
#include "src/provider/poller.h"
#include "src/provider/verbs/cm_channel.h"
#include "src/provider/verbs/device.h"
#include "src/provider/verbs/queue_pair.h"
#include "src/provider/verbs/queues.h"

namespace exs::verbs {

class VerbsLink;

// A closed connection that cannot go yet: its last messages have not left, or an iWARP peer has not answered.
// The kernel would delay the destroying thread for that time (ten seconds). Thread: shard.
class ClosingConnection final : public CmClient {
 public:
  // `id` and `queue_pair` are its own from now on.
  ClosingConnection(std::shared_ptr<CmChannel> channel, CmId id, std::unique_ptr<QueuePair> queue_pair,
                    bool unanswered, std::uint64_t limit_ns);
  ~ClosingConnection() override;
  [[nodiscard]] bool is_done(std::uint64_t now_ns);
  [[nodiscard]] bool is_unanswered() const noexcept { return unanswered_ && !heard_; }
  [[nodiscard]] std::uint64_t until_ns() const noexcept {
    return unanswered_ ? kNoDeadline : limit_.due_ns();
  }

 private:
  void cm_event(const rdma_cm_event&) override { heard_ = true; }

  const std::shared_ptr<CmChannel> channel_;
  const CmId id_;
  const std::unique_ptr<QueuePair> queue_pair_;  // goes before its id
  const bool unanswered_;
  Countdown limit_;
  bool heard_ = false;
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
  std::vector<std::unique_ptr<ClosingConnection>> closing;
  std::vector<VerbsLink*> links;     // all that are not over
  std::vector<VerbsLink*> replying;  // accepted, and the reply must be sent
  std::vector<VerbsLink*> ending;    // at the next progress()
  std::vector<VerbsLink*> timed;     // with something to do at a time
  std::vector<VerbsLink*> working;   // of the lists above, what the port is at

  // In each list for one more link, which needs no memory to enter them then. They trade places.
  void make_room_for_link();
};

}  // namespace exs::verbs
