// Our persistent receive from when it becomes active until its outcome: its window is offered to the peer,
// and what the peer sent as messages before it knew of the offer is put into its memory, message by
// message.
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
  // Where a message goes. ERANGE: it does not lie inside.
  [[nodiscard]] Result<Operation> target(const ArrivedMessage& message) const;
  // A message of which `bytes` are taken has been given its delivery; it `reads` until on_part_read().
  void add_part(std::uint64_t bytes, bool reads) noexcept;
  void on_part_read() noexcept { --parts_reading_; }

  // Takes it back from the peer, or ends it at once if the peer does not know of it.
  void revoke(int error);
  void end(Outcome outcome);
  // With the connection, which needs no memory.
  void fail(OutcomeSink& sink, Outcome outcome);
  Cancelled cancel(const Selection& selection, int error);
  // NOTICE or RELEASE.
  Status on_control(const wire::Message& message);
  // REVOKE, or if `may_offer` OFFER, when due.
  Status send_control(Outbox& outbox, bool may_offer);
  // Tells of what the peer wrote.
  void deliver(OutcomeSink& sink) { window_.deliver(sink); }

 private:
  OwnedWindow window_;
  Deliveries& deliveries_;
  std::size_t parts_reading_ = 0;  // deliveries that read into it
  std::uint64_t bytes_ = 0;        // put into it by messages
};

}  // namespace exs::proto
