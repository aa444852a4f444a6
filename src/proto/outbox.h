// The one way out: puts owed credits on every message and keeps count of what has not left yet.
#pragma once

#include <cstdint>

#include "src/proto/connection.h"
#include "src/proto/credit.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class Outbox {
 public:
  Outbox(Link& link, Credits& credits, Counters& counters, std::uint32_t depth)
      : link_(link), credits_(credits), counters_(counters), depth_(depth) {}

  // Messages may leave later than their answers arrive, so credits alone do not bound what the link holds.
  [[nodiscard]] bool has_room() const noexcept { return in_flight_ < depth_; }
  [[nodiscard]] bool all_left() const noexcept { return in_flight_ == 0; }

  // `message` without its credits. Needs room. On error nothing has changed.
  Status send(wire::Message message, LocalSlice payload, std::uint64_t token);
  Status send(wire::MessageType type, std::uint8_t flags = 0);
  void left() noexcept { --in_flight_; }

  // Sends what is owed by itself if half is owed and nothing else was sent since the last call.
  Status return_credits();

 private:
  void count(wire::MessageType type);

  Link& link_;
  Credits& credits_;
  Counters& counters_;
  const std::uint32_t depth_;
  std::uint32_t in_flight_ = 0;
  bool sent_in_step_ = false;
};

}  // namespace exs::proto
