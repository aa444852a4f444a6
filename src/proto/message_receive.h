// The receive operations of a connection and the data messages of the peer, matched in order. A matched pair,
// or what ends without a partner, becomes a transfer; transfers end in order, with an outcome and, for an
// advert, with an ACK.
#pragma once

#include <cstdint>

#include "src/base/fifo.h"
#include "src/proto/connection.h"
#include "src/proto/outbox.h"
#include "src/proto/rdma_read.h"
#include "src/proto/receive_side.h"
#include "src/proto/slots.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class MessageReceives final : public ReceiveSide {
 public:
  MessageReceives(Link& link, Slots& slots, Credits& credits, Counters& counters, const Agreement& agreement,
                  std::uint64_t chunk_bytes, std::uint32_t first_sequence);

  void post(const Operation& operation) override;
  Status arrived(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes) override;
  Status told(const wire::Message& message) override;
  void read_landed() override;
  void peer_ended() override;
  void stop(const Outcome& outcome) override;
  void revoke() override {}
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  Status match() override;
  Status post_reads() override { return reads_.post(); }
  void deliver(OutcomeSink& sink) override;
  Status send_answers(Outbox& outbox) override;

  [[nodiscard]] bool settled() const noexcept override { return transfers_.empty() && acks_.empty(); }
  [[nodiscard]] std::size_t adverts_held() const noexcept override { return adverts_held_; }
  [[nodiscard]] std::size_t credits_held() const noexcept override {
    return adverts_held_ + immediates_held_;
  }
  [[nodiscard]] bool has_data() const noexcept override {
    return !waiting_.empty() || state_ != State::kOpen;
  }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override;

 private:
  enum class State : std::uint8_t { kOpen, kPeerEnded, kStopped };
  enum class Source : std::uint8_t { kNothing, kAdvert, kImmediate };

  struct Incoming {
    Source source = Source::kNothing;
    std::uint32_t sequence = 0;
    RemoteSlice window;               // kAdvert
    std::uint64_t slot = 0;           // kImmediate
    std::uint32_t message_bytes = 0;  // kImmediate
  };
  struct Transfer {
    bool has_operation = false;  // false: an advert refused
    bool finished = false;
    Source source = Source::kNothing;
    std::uint32_t sequence = 0;
    Operation operation;
    Outcome outcome;
  };
  struct PendingAck {
    std::uint32_t sequence = 0;
    wire::Ack ack;
  };

  void start_advert(const Operation& operation, const Incoming& incoming);
  Status start_immediate(const Operation& operation, const Incoming& incoming);
  Status free_immediate(const Incoming& incoming);
  void end_open_receives(const Outcome& outcome);
  Status refuse_waiting();
  void count(const Transfer& ended);

  Slots& slots_;
  Credits& credits_;
  Counters& counters_;
  const std::uint32_t small_bytes_;
  RdmaReads reads_;
  State state_ = State::kOpen;
  Outcome stop_outcome_;
  std::uint32_t next_sequence_;
  Fifo<Operation> open_;    // receives without a message
  Fifo<Incoming> waiting_;  // messages without a receive
  Fifo<Transfer> transfers_;
  std::uint64_t first_id_ = 0;  // of the transfer at the front
  Fifo<PendingAck> acks_;
  std::size_t adverts_held_ = 0;
  std::size_t immediates_held_ = 0;
};

}  // namespace exs::proto
