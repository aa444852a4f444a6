// The peer's tagged messages. Arrivals go to the inbox at once, so only the adverts that the inbox keeps wait
// here for a receive. A receive that takes one makes READs of it.
//
// Design notes
//  1. A message has passed through when the inbox has it: its slot and its credit are free again. The eager window and the number of
//     adverts bound the memory of messages that nobody takes. Both come back when a receive has taken them.
//  2. So credits come back whatever the application does, and an answer may spend one, too. Otherwise each answer to a message of the
//     peer would need a slot of its own there.
//  3. When as many adverts are kept as agreed, the labels of the waiting receives go to the peer as one wish (tagged_send.h). The wish
//     stands until a message comes that fits it, and grows while receives are posted that it does not cover. A wish that nobody has any
//     more costs a few labels, so no wish is taken back.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "base/numbered_pool.h"
#include "src/proto/outbox.h"
#include "src/proto/receive_side.h"
#include "src/proto/slice_cursor.h"
#include "src/proto/slots.h"
#include "src/proto/tagged/eager_window.h"
#include "src/proto/tagged/inbox.h"
#include "src/wire/codec.h"

namespace exs::proto {

// Thread: shard.
class TaggedReceives final : public ReceiveSide {
 public:
  TaggedReceives(Link& link, Slots& slots, Credits& credits, EagerWindow& eager, Counters& counters,
                 const Agreement& agreement, Inbox& inbox, std::uint64_t chunk_bytes,
                 std::uint32_t first_sequence);

  // The inbox has the receives.
  bool post(const Operation& /*operation*/) override { return false; }
  Status on_data(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes) override;
  // Takes a message that still lies with the provider, whose fixed part is `head`. False: it is not the
  // expected one; nothing has changed.
  bool take_at_arrival(const wire::TaggedHead& head, const ArrivingMessage& message);
  Status on_recall(const wire::Message& /*message*/) override { return Status(EPROTO); }
  void on_read_done() override;

  // A receive has taken, or the inbox has dropped, a kept message.
  void finish_kept(const Arrival& arrival, wire::AckStatus answer);
  // The next receive that takes an advert is sure to complete, also where memory ends. Throws std::bad_alloc.
  void prepare_read();
  // Call it after prepare_read().
  void read_kept(std::uint32_t advert, const Operation& receive);
  void refuse_kept(std::uint32_t advert);
  // Asks for messages that the peer holds back.
  void want(const Wish& wish);
  // Some of that waits for advance().
  [[nodiscard]] bool owes_something() const noexcept {
    return !answers_.empty() || return_is_due() || asks_something();
  }

  void stop(const Outcome& outcome) override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& /*selection*/, int /*error*/) override { return {}; }
  Status match() override { return {}; }
  void deliver(OutcomeSink& sink) override;
  Status send_answers(Outbox& outbox) override;

  [[nodiscard]] bool settled() const noexcept override {
    return deliveries_.empty() && answers_.empty() && fetches_.empty();
  }
  [[nodiscard]] std::size_t adverts_held() const noexcept override { return adverts_held_; }
  [[nodiscard]] std::size_t credits_held() const noexcept override { return 0; }
  [[nodiscard]] bool has_data() const noexcept override { return false; }
  [[nodiscard]] std::uint64_t next_bytes() const noexcept override { return 0; }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override { return UINT64_MAX; }

 private:
  struct Advert {
    std::uint32_t id = 0;
    std::uint64_t length_bytes = 0;
    std::vector<RemoteSlice> windows;
    bool is_held = false;  // they are to be fetched
  };
  // A receive that has taken a HELD. The peer sends the HELD's windows, or its bytes in parts.
  struct Fetching {
    Operation receive;
    Advert advert;
    SliceCursor into;
    std::uint64_t came_bytes = 0;
  };
  struct Delivery {
    Operation receive;
    Outcome outcome;
    std::uint32_t id = 0;
    bool is_finished = false;
  };
  struct Answer {
    std::uint32_t id = 0;
    wire::Ack ack;
    bool is_of_advert = false;
  };

  // A peer that sends no more does not need it.
  [[nodiscard]] bool return_is_due() const noexcept {
    return state_ == State::kOpen && eager_.return_is_due();
  }
  [[nodiscard]] bool asks_something() const noexcept {
    return (wish_is_due_ && state_ == State::kOpen) || fetches_sent_ < fetches_.count();
  }
  [[nodiscard]] bool is_full() const noexcept { return adverts_held_ >= adverts_max_; }
  [[nodiscard]] std::size_t adverts_allowed() const noexcept {
    return std::size_t{adverts_max_} + (has_wished_ ? wire::kWantedMax : 0);
  }
  [[nodiscard]] static Arrival arrival_of(const wire::Header& header, const wire::Label& label,
                                          std::uint64_t payload_bytes) noexcept;
  void accept(const Arrival& arrival, const ArrivingMessage& message, std::size_t offset);
  Status on_advert(const wire::Message& message, std::span<const std::byte> windows);
  Status on_fetched(const wire::Message& message, std::span<const std::byte> tail);
  Status on_part(std::span<const std::byte> bytes);
  Status count_advert(std::uint32_t sequence);
  void uncount_advert() noexcept;
  void renew_wish() noexcept;
  void take_advert(Advert advert, const Operation& receive);
  void start_reads(const Advert& advert, const Operation& receive);
  void end_unread(const Operation& receive, int error);
  Status ask(Outbox& outbox);
  void answer_advert(std::uint32_t id, wire::AckStatus status, std::uint64_t bytes_taken) {
    answers_.push_back({id, {status, bytes_taken}, true});
  }
  Advert take_kept(std::uint32_t number);

  Slots& slots_;
  Credits& credits_;
  EagerWindow& eager_;
  Counters& counters_;
  Inbox& inbox_;
  const std::uint32_t small_bytes_;
  const std::uint32_t adverts_max_;
  std::uint32_t next_sequence_;
  std::size_t adverts_held_ = 0;  // that have had no ACK
  NumberedPool<Advert> kept_;
  std::optional<Wish> wish_;  // that the peer has, or gets
  bool wish_is_due_ = false;
  bool has_wished_ = false;
  Fifo<Fetching> fetches_;  // in the order of their answers
  std::size_t fetches_sent_ = 0;
  Fifo<Delivery> deliveries_;   // receives in progress, in the order of their READs
  std::uint64_t first_id_ = 0;  // of the delivery at the front
  Fifo<Answer> answers_;
};

}  // namespace exs::proto
