// Deliveries of messages, each a receive and the message it matched, or one of them that ends without the
// other. They finish in any order and end in theirs, with an outcome and, for an advert, with an ACK.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "base/fifo.h"
#include "src/proto/message/arrived_messages.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/proto/rdma_chunks.h"
#include "src/wire/messages.h"

namespace exs::proto {

struct Delivery {
  enum class Kind : std::uint8_t {
    kReceive,         // ends with the outcome of its operation
    kAnswer,          // an advert not taken: ends with its ACK alone
    kPersistentPart,  // a message put into the persistent receive
  };

  Kind kind = Kind::kReceive;
  bool finished = false;
  MessageSource source = MessageSource::kNothing;
  wire::AckStatus answer = wire::AckStatus::kTaken;
  std::uint32_t sequence = 0;
  Operation operation;
  Outcome outcome;
};

// Thread: shard.
class Deliveries {
 public:
  Deliveries(Counters& counters, RdmaReads& reads) : counters_(counters), reads_(reads) {}

  void add_finished(const Delivery& delivery) { deliveries_.push_back(delivery).finished = true; }
  // Reserves memory for so many more, except for their reads.
  void make_room(std::size_t count) { deliveries_.reserve(deliveries_.count() + count); }
  // Ends the operation in its turn, without a message.
  void add_end(const Operation& operation, const Outcome& outcome);
  // READs as many bytes as the outcome says, from `window` and then from those of `list`.
  void add_reads(const Delivery& delivery, const RemoteSlice& window, std::span<const std::byte> list);
  // The oldest READ is done. The delivery when that was its last, else null.
  const Delivery* on_read_done();
  // Ends the reads of the peer's window with ECANCELED; false: there were none.
  bool cancel_window_reads();
  void fail_all(const Outcome& outcome);

  // Gives the outcomes that are due and makes their ACKs.
  void deliver(OutcomeSink& sink);
  [[nodiscard]] bool ack_is_due() const noexcept { return !acks_.empty(); }
  Status send_ack(Outbox& outbox);

  [[nodiscard]] bool empty() const noexcept { return deliveries_.empty(); }
  // Something still reads the peer's window.
  [[nodiscard]] bool reads_window() const noexcept { return window_reads_ > 0; }
  // The number of matching receives in progress.
  [[nodiscard]] std::uint32_t count_begun(const Selection& selection) const;
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept;  // as SendSide

 private:
  struct PendingAck {
    std::uint32_t sequence = 0;
    wire::Ack ack;
  };

  void count(const Delivery& ended);

  Counters& counters_;
  RdmaReads& reads_;
  Fifo<Delivery> deliveries_;
  std::uint64_t first_id_ = 0;  // of the delivery at the front
  Fifo<PendingAck> acks_;
  std::size_t window_reads_ = 0;  // deliveries that read the peer's window
};

}  // namespace exs::proto
