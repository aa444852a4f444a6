// The only way out for messages: puts owed credits on each one and counts what has not left yet.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "src/proto/credit.h"
#include "src/proto/operation.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Longest tail of a message that is copied as a whole. Links copy their headers in one piece.
inline constexpr std::size_t kCopiedBytesMax = 16384;

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
  Status send(const wire::Message& message);  // no payload, and nobody waits for its leaving
  Status send(wire::MessageType type, std::uint8_t flags = 0);
  // As the one before, of a message that the peer hardly waits for: more may leave with it.
  Status send_at_leisure(const wire::Message& message);
  // An immediate message that has left when the call returns. False: it cannot now, and nothing has changed.
  bool send_immediate_now(std::uint32_t sequence, LocalSlice payload);
  // The same of any message, whose credits are put on it.
  bool send_now(const wire::Message& message, LocalSlice payload = {});
  // What follows the fixed part, copied: fill the room, then send. At most kCopiedBytesMax.
  std::span<std::byte> tail_room(std::size_t bytes);
  Status send_with_tail(const wire::Message& message, std::size_t tail_bytes, std::uint64_t token);
  void on_sent() noexcept { --in_flight_; }

  // As return_credits() of a step in which nothing can have become due.
  void end_step() noexcept { sent_in_step_ = false; }
  // If nothing else was sent since the last call, sends a message for the credits alone: when half are owed,
  // or any and `at_once`.
  Status return_credits(bool at_once);

 private:
  Status post(const wire::Message& message, std::size_t tail_bytes, LocalSlice payload, std::uint64_t token);
  // Puts owed credits on the message, and counts it if the link takes it.
  template <typename Post>
  Status post_by(wire::Message message, std::size_t tail_bytes, Post&& post);
  void sent(const wire::Header& header);
  void count(wire::MessageType type);

  Link& link_;
  Credits& credits_;
  Counters& counters_;
  const std::uint32_t depth_;
  std::uint32_t in_flight_ = 0;
  bool sent_in_step_ = false;
  std::vector<std::byte> scratch_;  // a fixed part, right before a tail
};

}  // namespace exs::proto
