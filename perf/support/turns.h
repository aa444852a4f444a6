// The turns of several buffers: small messages from server to client on the control connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "perf/support/channel.h"
#include "perf/support/control.h"
#include "perf/support/job.h"

namespace perf {

// The server's end: gives turns, and detects the end of the client's sending.
class TurnGiver {
 public:
  TurnGiver(Channel& channel, std::uint32_t buffers);

  // Opens the measurement: turns may be given from now on.
  void answer(Wait wait);
  void give(const Turn& turn);
  // Returns false if the event belongs to another connection. Throws Failure if the control connection broke.
  bool handle(const exs_event_t& event);
  [[nodiscard]] bool ended() const { return ended_; }
  // No operation uses the memory of the messages any more, so it may be freed.
  [[nodiscard]] bool idle() const { return left_ == posted_; }

 private:
  Channel& channel_;
  Slots& messages_;
  std::uint64_t posted_ = 0;
  std::uint64_t left_ = 0;
  bool ended_ = false;
};

// The client's end.
class TurnReceiver {
 public:
  TurnReceiver(Channel& channel, std::uint32_t buffers);

  // Returns nullopt for another event of the control connection. Throws Failure if the server has ended.
  std::optional<Turn> turn_in(const exs_event_t& event);
  // Shuts all connections down and waits for the server's results; later turns do not count.
  PeerResults end();

 private:
  void post();

  Channel& channel_;
  Slots& messages_;
  std::uint64_t posted_ = 0;
  std::optional<PeerResults> results_;
};

}  // namespace perf
