// Our persistent receive from its activation until its outcome. Its window is offered to the peer. Messages
// that the peer sent before it knew the offer are put into its memory, one by one.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "src/proto/message/deliveries.h"
#include "src/proto/persistence/owned_window.h"

namespace exs::proto {

// Thread: shard.
class PersistentReceive {
 public:
  // Its outcome goes to `deliveries`, behind the messages that are still being put into it.
  PersistentReceive(Link& link, Counters& counters, Deliveries& deliveries)
      : window_(link, counters, Direction::kReceive), deliveries_(deliveries) {}

  void activate(const Operation& operation);
  [[nodiscard]] bool is_active() const noexcept { return window_.is_open(); }
  [[nodiscard]] bool is_advertised() const noexcept { return window_.is_advertised(); }
  [[nodiscard]] bool is_revoked() const noexcept { return window_.is_revoked(); }

  // A message can be put into it now.
  [[nodiscard]] bool takes_message() const noexcept { return !is_revoked() && parts_reading_ == 0; }
  // The destination of a message. ERANGE: it does not lie inside.
  [[nodiscard]] Result<Operation> target(const ArrivedMessage& message) const;
  // A message of which `bytes` are taken has its delivery; it `reads` until on_part_read().
  void add_part(std::uint64_t bytes, bool reads) noexcept;
  void on_part_read() noexcept { --parts_reading_; }

  // Takes it back from the peer, or ends it at once if the peer does not know of it.
  void revoke(int error);
  void end(Outcome outcome);
  // Fails it together with the connection. Needs no memory.
  void fail(OutcomeSink& sink, Outcome outcome);
  Cancelled cancel(const Selection& selection, int error);
  // NOTICE or RELEASE.
  Status on_control(const wire::Message& message);
  // REVOKE, or if `may_offer` OFFER, when due.
  Status send_control(Outbox& outbox, bool may_offer);
  // Reports what the peer wrote.
  void deliver(OutcomeSink& sink) { window_.deliver(sink); }

 private:
  OwnedWindow window_;
  Deliveries& deliveries_;
  std::size_t parts_reading_ = 0;  // deliveries that read into it
  std::uint64_t bytes_ = 0;        // put into it by messages
};

}  // namespace exs::proto
