// The receive operations of a connection and the data messages of the peer, matched in order. A matched pair,
// or what ends without a partner, becomes a transfer; transfers end in order, with an outcome and, for an
// advert, with an ACK.
#pragma once

#include <cstdint>

#include "src/base/fifo.h"
#include "src/proto/connection.h"
#include "src/proto/outbox.h"
#include "src/proto/rdma_read.h"
#include "src/proto/slots.h"
#include "src/wire/messages.h"

namespace exs::proto {

// Thread: shard.
class Receives {
 public:
  Receives(Link& link, Slots& slots, Credits& credits, Counters& counters, const Agreement& agreement,
           std::uint64_t chunk_bytes, std::uint32_t first_sequence);

  void post(const Operation& operation);
  // A data message of the peer in its slot. EPROTO: no credit, wrong sequence, longer than agreed.
  Status arrived(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes);
  // The oldest RDMA READ is done.
  void read_landed();

  // The peer sends no more data: what is here is still delivered, then receives see end of stream.
  void peer_ended();
  // No more receiving: open and later receives end with `outcome`, adverts that wait or come are refused,
  // immediates dropped. Transfers under way go on.
  void stop(const Outcome& outcome);
  void fail_all(int error);

  // Matches what is here and starts what follows.
  Status match();
  Status post_reads() { return reads_.post(); }
  // Gives the outcomes that are due and makes their ACKs.
  void deliver(OutcomeSink& sink);
  Status send_acks(Outbox& outbox);

  // Nothing under way and nothing left to tell the peer. Messages may wait for receives.
  [[nodiscard]] bool settled() const noexcept { return transfers_.empty() && acks_.empty(); }
  // Adverts of the peer that have had no ACK yet.
  [[nodiscard]] std::size_t adverts_held() const noexcept { return adverts_held_; }
  // Credits of the peer that messages here still use.
  [[nodiscard]] std::size_t credits_held() const noexcept { return adverts_held_ + immediates_held_; }

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
