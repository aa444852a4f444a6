// The only way out for messages: puts owed credits on each one and counts what has not left yet.
// SPDX-License-Identifier: BSD-2-Clause
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
  Status send(const wire::Message& message);  // no payload, and no completion
  Status send(wire::MessageType type, std::uint8_t flags = 0);
  // Likewise for a message that the peer hardly waits for: more may leave with it.
  Status send_at_leisure(const wire::Message& message);
  // Sends an immediate message that has left when the call returns. False: not possible now; nothing has
  // changed.
  bool send_immediate_now(std::uint32_t sequence, LocalSlice payload);
  // Likewise for any message, with credits put on it.
  bool send_now(const wire::Message& message, LocalSlice payload = {});
  // Room for copied bytes behind the fixed part: fill it, then send. At most kCopiedBytesMax.
  std::span<std::byte> tail_room(std::size_t bytes);
  Status send_with_tail(const wire::Message& message, std::size_t tail_bytes, std::uint64_t token);
  void on_sent() noexcept { --in_flight_; }

  // Like return_credits(), for a step in which nothing can have become due.
  void end_step() noexcept { sent_in_step_ = false; }
  // Sends a message for the credits alone, if nothing else was sent since the last call, and half are owed,
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
