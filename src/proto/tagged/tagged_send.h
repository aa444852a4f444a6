// The sends of tagged messages, from post to outcome. They leave in post order. Each leaves with its payload
// (eagerly, as far as the peer holds room for it), or as an advert that the peer reads when a receive has
// matched it. They end in any order.
//
// Design notes
//  1. When the peer keeps as many adverts as agreed, sends wait here. The peer may want one of these. Then all up to the first that fits
//     leave, in their order, as labels alone (HELD). So a receive finds its message however many lie before it, and order needs no rule
//     of its own. The peer remembers the messages that its own receives pass over, and nothing else.
//  2. Windows are few, and a HELD opens none. Its receiver fetches it, and then it is like an advert. Messages of no bytes have no window
//     to open. They travel so, too, when the peer has no room for them.
//  3. If no window can be had, or no memory may be registered, an advert becomes a HELD, and the fetched bytes go in parts, as payload.
//     Adverts that nobody matches may hold all windows, and a receive must not wait for them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "base/numbered_pool.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/proto/send_side.h"
#include "src/proto/slice_cursor.h"
#include "src/proto/tagged/eager_window.h"
#include "src/proto/tagged/wish.h"
#include "src/proto/windows.h"

namespace exs::proto {

// Thread: shard.
class TaggedSends final : public SendSide {
 public:
  TaggedSends(Link& link, Outbox& outbox, Credits& credits, EagerWindow& eager, Counters& counters,
              const Agreement& agreement, std::uint32_t first_sequence);

  void post(const Operation& operation) override;
  bool send_now(const Operation& operation) override;
  // Sends at once and flushes the link. Requires that nothing waits before it.
  [[nodiscard]] ShortSend send_short(const Label& label, LocalSlice payload) noexcept;
  [[nodiscard]] bool may_send_short() const noexcept { return waiting_.empty() && stop_error_ == 0; }
  Status transmit() override;
  void flush() override {}
  void on_sent(std::uint64_t id) override;
  Status on_control(const wire::Message& message) override;
  void stop(int error) override;
  void on_all_received() override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  void deliver(OutcomeSink& sink) override;

  // The receiver reads longer ones. No more than the agreement allows.
  void set_eager_max(std::size_t bytes) noexcept;

  [[nodiscard]] bool all_sent() const noexcept override { return waiting_.empty() && held_ == 0; }
  [[nodiscard]] bool idle() const noexcept override {
    return waiting_.empty() && ended_.empty() && open_.taken() == 0;
  }
  [[nodiscard]] bool adverts_outstanding() const noexcept override { return unanswered_ > 0; }
  // Answers spend credits, too.
  [[nodiscard]] bool awaits_notices() const noexcept override { return unanswered_ > 0; }
  [[nodiscard]] bool stalled() const noexcept override {
    return !waiting_.empty() && credits_.available() == 0;
  }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override { return UINT64_MAX; }

 private:
  enum class Fetch : std::uint8_t { kNone, kMayCome, kIsDue };

  // A send that has left, or is leaving. Its number here, and one, is its id for the peer.
  struct Sent {
    Operation operation;
    Windows windows;
    std::unique_ptr<std::byte[]> copy;  // of pieces too many for an advert
    bool is_open = false;
    bool is_leaving = false;  // its memory is in use by the link
    bool is_awaited = false;  // an ACK is to end it
    bool is_advert = false;   // or a HELD: one of adverts_
    Fetch fetch = Fetch::kNone;
    std::optional<SliceCursor> parts;  // it goes in parts: those that have not left
    Outcome outcome;
  };
  struct Ended {
    Operation operation;
    Outcome outcome;
  };

  [[nodiscard]] bool may_go_eagerly(const Operation& operation) const noexcept;
  // False: it must wait.
  Result<bool> send(const Operation& operation);
  Result<bool> send_eagerly(const Operation& operation);
  Result<bool> send_advert(const Operation& operation);
  Result<bool> send_held(const Operation& operation);
  Status serve_fetches();
  Status send_fetched(Sent& entry);
  Status send_part(Sent& entry);
  Status send_windows(const wire::Message& message, const Windows& windows);
  void note_announced(Sent& entry, const wire::Message& message) noexcept;
  Result<Windows> open_windows_of(const Operation& operation, Sent& sent);
  Result<Windows> open_window_of_copy(const Operation& operation, Sent& sent);
  Status close_windows_of(Sent& sent);
  [[nodiscard]] wire::Message message_of(wire::MessageType type, const Operation& operation,
                                         std::uint32_t id) const noexcept;
  void sent(const wire::Message& message) noexcept;
  Status on_ack(const wire::Message& message);
  Status on_fetch(const wire::Message& message);
  void look_for_wished() noexcept;
  std::uint32_t open_entry(const Operation& operation);
  void close_entry(std::uint32_t number) noexcept;
  void end(std::uint32_t number);
  void end_if_over(std::uint32_t number);
  void deliver_failed(OutcomeSink& sink);
  void count(const Outcome& outcome) noexcept;

  Link& link_;
  Outbox& outbox_;
  Credits& credits_;
  EagerWindow& eager_;
  Counters& counters_;
  const std::size_t eager_agreed_;
  const std::size_t windows_max_;
  const std::size_t part_max_;
  const std::uint32_t adverts_max_;
  std::size_t eager_max_;
  std::uint32_t next_sequence_;
  std::size_t unanswered_ = 0;
  std::size_t adverts_ = 0;  // of those
  std::size_t held_ = 0;     // of those: no windows yet
  Fifo<Operation> waiting_;
  std::optional<Wish> wish_;     // of the peer, until a message that fits leaves
  std::size_t wished_ = 0;       // of waiting_: those up to the first that fits. 0: none does
  Fifo<std::uint32_t> fetches_;  // numbers, in the order in which the peer asked
  NumberedPool<Sent> open_;
  Fifo<Ended> ended_;
  bool has_failed_ = false;
};

}  // namespace exs::proto
