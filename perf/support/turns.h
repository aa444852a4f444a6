// Whose turn it is with each of several buffers: small messages from server to client on the control
// connection.
#pragma once

#include <optional>

#include "perf/support/channel.h"
#include "perf/support/control.h"
#include "perf/support/job.h"

namespace perf {

// The server's end: gives turns, and sees the end of the client's sending.
class TurnGiver {
 public:
  TurnGiver(Channel& channel, std::uint32_t buffers);

  // Opens the measurement: turns may be given from now on.
  void answer(Wait wait);
  void give(const Turn& turn);
  // False: the event is none of the control connection. Throws Failure when it broke.
  bool handle(const exs_event_t& event);
  [[nodiscard]] bool ended() const { return ended_; }
  // No operation uses the memory of the messages any more: it must not go before.
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

  // nullopt: an event of another kind on the control connection. Throws Failure when the server has ended.
  std::optional<Turn> turn_in(const exs_event_t& event);
  // Shuts all connections down and waits for the server's results; turns that come yet count no more.
  PeerResults end();

 private:
  void post();

  Channel& channel_;
  Slots& messages_;
  std::uint64_t posted_ = 0;
  std::optional<PeerResults> results_;
};

}  // namespace perf
