// The receive operations of a stream and the data messages of the peer: bytes go into posted memory in the
// order in which they were sent, from IMMEDIATEs by copying, from ADVERTs by RDMA READs.
//
// Design notes
//  1. Bytes that wait for a receive stay where they are: in the slots, which are the bounded receive buffer, or
//     in the sender's memory. A slot and its credit go back once all of its payload is taken.
//  2. Bytes are assigned in post order and at once, READs land in the order in which they were posted; so
//     receives after the first need not wait until it is full, and events still come in post order.
//  3. Without wait_all a receive ends with the bytes that are there: as many IMMEDIATEs as fit, or one ADVERT.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "base/fifo.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/proto/rdma_chunks.h"
#include "src/proto/receive_side.h"
#include "src/proto/slice_cursor.h"
#include "src/proto/slots.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class StreamReceives final : public ReceiveSide {
 public:
  StreamReceives(Link& link, Slots& slots, Credits& credits, Counters& counters, const Agreement& agreement,
                 std::uint64_t chunk_bytes, std::uint32_t first_sequence);

  bool post(const Operation& operation) override;
  Status on_data(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes) override;
  Status on_recall(const wire::Message& message) override;
  void on_read_done() override;
  void stop(const Outcome& outcome) override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  Status match() override;
  void deliver(OutcomeSink& sink) override;
  Status send_answers(Outbox& outbox) override;

  [[nodiscard]] bool settled() const noexcept override {
    return readings_.empty() && acks_.empty() && !recall_answer_.is_due();
  }
  [[nodiscard]] std::size_t adverts_held() const noexcept override {
    return adverts_.count() + acks_.count() + recall_answer_.adverts_held();
  }
  [[nodiscard]] std::size_t credits_held() const noexcept override {
    return adverts_held() + immediates_held_;
  }
  [[nodiscard]] bool has_data() const noexcept override {
    return !waiting_.empty() || state_ != State::kOpen;
  }
  [[nodiscard]] std::uint64_t next_bytes() const noexcept override;
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override;

 private:
  struct Receive {
    Operation operation;
    SliceCursor room;           // the rest to fill
    bool ended = false;         // takes no more
    std::uint32_t reading = 0;  // reads into it that are in progress
    Outcome outcome;            // length_bytes: assigned so far
  };
  // Data that is not assigned yet; at the front, minus its assigned part.
  struct ArrivedData {
    bool is_advert = false;
    RemoteSlice window;               // adverts
    std::uint64_t slot = 0;           // immediates
    std::uint32_t message_bytes = 0;  // immediates
    std::uint32_t taken_bytes = 0;    // immediates: of the payload
  };
  struct AdvertProgress {
    std::uint32_t sequence = 0;
    std::uint64_t length_bytes = 0;
    std::uint64_t left_bytes = 0;  // still to be read
    bool refused = false;
    std::uint32_t reading = 0;  // reads out of it that are in progress
  };
  // A part of one advert on its way into one receive.
  struct Reading {
    std::uint64_t receive_id = 0;
    std::uint64_t bytes = 0;
  };

  [[nodiscard]] std::uint64_t end_id() const noexcept { return first_id_ + receives_.count(); }
  [[nodiscard]] Receive& receive(std::uint64_t id) { return receives_[id - first_id_]; }
  Status check(const wire::Message& message) const;
  Status fill(Receive& into);
  Status copy(Receive& into, ArrivedData& from);
  void read(Receive& into, ArrivedData& from);
  Status free_slot(const ArrivedData& immediate);
  Status refuse_waiting();
  bool forget_advert(std::uint32_t sequence);
  void finish_adverts();
  void end_open_receives(const Outcome& outcome);
  static void end_receive(Receive& open, const Outcome& outcome);

  Slots& slots_;
  Credits& credits_;
  Counters& counters_;
  const std::uint32_t small_bytes_;
  std::uint32_t next_sequence_;
  Fifo<Receive> receives_;
  std::uint64_t first_id_ = 0;    // of the receive at the front
  std::uint64_t filling_id_ = 0;  // receives before this one have ended
  Fifo<ArrivedData> waiting_;
  Fifo<AdvertProgress> adverts_;       // of which something is still to be read
  std::uint64_t first_advert_id_ = 0;  // of the advert at the front
  std::uint64_t advert_at_front_ = 0;  // id of the first one in waiting_
  Fifo<Reading> readings_;
  Fifo<AdvertProgress> acks_;  // to be acknowledged
  std::size_t immediates_held_ = 0;
};

}  // namespace exs::proto
