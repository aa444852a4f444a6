// The receive operations of a connection and the data messages of the peer, matched in order. A matched pair,
// or what ends without a partner, becomes a transfer; transfers end in order, with an outcome and, for an
// advert, with an ACK.
//
// Design notes
//  1. A persistent send of the peer is taken in when it comes and then waits its turn among the messages. At
//     the head it is the standing window: it stays there, and every receive becomes READs of it.
//  2. A persistent receive, in its turn, becomes the block: the peer is offered it, and what the peer sends
//  as
//     messages before it knows is put into it, one message at a time. What comes after it was taken back
//     waits for later receives.
//  3. Both of one direction never stand: whoever finds the other's ends with EBUSY (the sender by an ACK that
//     takes its turn). So a persistent receive is in its turn only after the RELEASE of the peer's window.
//  4. A window that its owner took back leaves a mark in its place if no receive was reading it: the next
//  plain
//     receive that comes there ends with ECANCELED. Receives at an offset do until the peer sends something.
#pragma once

#include <cstdint>

#include "src/base/fifo.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/proto/owned_window.h"
#include "src/proto/peer_window.h"
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

  bool post(const Operation& operation) override;
  Status arrived(const wire::Message& message, std::uint64_t slot, std::uint32_t message_bytes) override;
  [[nodiscard]] bool took_directly() const noexcept override { return taken_directly_; }
  Status told(const wire::Message& message) override;
  void read_landed() override;
  void peer_ended() override;
  void stop(const Outcome& outcome) override;
  void revoke() override;
  void fail_all(int error) override;
  Cancelled cancel(const Selection& selection, int error) override;
  Status match() override;
  Status post_reads() override { return reads_.post(); }
  void deliver(OutcomeSink& sink) override;
  Status send_answers(Outbox& outbox) override;
  Status send_notices(Outbox& outbox) override;

  [[nodiscard]] bool settled() const noexcept override {
    return transfers_.empty() && acks_.empty() && !block_.is_open() && !peer_window_.is_held();
  }
  [[nodiscard]] std::size_t adverts_held() const noexcept override {
    return adverts_held_ + (peer_window_.is_held() ? 1 : 0);
  }
  [[nodiscard]] std::size_t credits_held() const noexcept override {
    return adverts_held_ + immediates_held_;
  }
  [[nodiscard]] bool has_data() const noexcept override {
    return !waiting_.empty() || state_ != State::kOpen;
  }
  [[nodiscard]] bool returns_credits_at_once() const noexcept override { return block_.is_told(); }
  [[nodiscard]] std::uint64_t oldest_post_ns() const noexcept override;

 private:
  enum class State : std::uint8_t { kOpen, kPeerEnded, kStopped };
  enum class Source : std::uint8_t { kNothing, kAdvert, kImmediate, kWindow, kTakenBack };

  struct Incoming {
    Source source = Source::kNothing;
    bool at_offset = false;  // kAdvert
    bool busy = false;       // kAdvert: a persistent one that met our persistent receive
    std::uint32_t sequence = 0;
    RemoteSlice window;               // kAdvert: the first
    std::uint64_t length_bytes = 0;   // kAdvert: of all windows
    std::uint64_t target_offset = 0;  // kAdvert, at_offset
    std::uint64_t slot = 0;           // of kImmediate, and of kAdvert with a list
    std::uint32_t message_bytes = 0;
    std::uint32_t list_bytes = 0;
  };
  enum class Role : std::uint8_t {
    kReceive,  // ends with the outcome of its operation
    kAnswer,   // an advert not taken
    kBlock,    // a message put into the block
  };
  struct Transfer {
    Role role = Role::kReceive;
    bool finished = false;
    Source source = Source::kNothing;
    wire::AckStatus answer = wire::AckStatus::kTaken;
    std::uint32_t sequence = 0;
    Operation operation;
    Outcome outcome;
  };
  struct PendingAck {
    std::uint32_t sequence = 0;
    wire::Ack ack;
  };
  struct Ended {
    Operation operation;
    Outcome outcome;
  };

  Status take_directly(std::uint64_t slot, std::uint32_t message_bytes);
  void deliver_direct(OutcomeSink& sink);
  Result<bool> match_one();
  Result<bool> match_message();
  bool match_mark();
  bool stand_up();
  Result<bool> fill_block();
  Status start_advert(const Operation& operation, const Incoming& incoming, Role role);
  Status start_immediate(const Operation& operation, const Incoming& incoming, Role role);
  void read_window(const Operation& operation);
  void add_reads(const Operation& into, const Incoming& from, std::uint64_t bytes);
  Status answer(const Incoming& advert, wire::AckStatus status);
  void end_operation(const Operation& operation, const Outcome& outcome);
  void end_block(Outcome outcome);
  void take_back_block(int error);
  Status window_revoked(const wire::Message& message);
  Status free_immediate(const Incoming& incoming);
  Status free_list(const Incoming& incoming);
  void end_open_receives(const Outcome& outcome);
  Status refuse_waiting();
  void count(const Transfer& ended);

  [[nodiscard]] bool owns_direction() const noexcept { return open_persistent_ > 0 || block_.is_open(); }

  Slots& slots_;
  Credits& credits_;
  Counters& counters_;
  const std::uint32_t small_bytes_;
  RdmaReads reads_;
  State state_ = State::kOpen;
  Outcome stop_outcome_;
  std::uint32_t next_sequence_;
  Fifo<Operation> open_;    // receives without a message
  Fifo<Incoming> waiting_;  // messages without a receive; the standing window
  Fifo<Transfer> transfers_;
  Fifo<Ended> cancelled_;       // outcomes that need not wait their turn
  std::uint64_t first_id_ = 0;  // of the transfer at the front
  Fifo<PendingAck> acks_;
  std::size_t adverts_held_ = 0;
  std::size_t immediates_held_ = 0;
  OwnedWindow block_;       // of our persistent receive
  PeerWindow peer_window_;  // of the peer's persistent send
  std::size_t open_persistent_ = 0;
  std::size_t window_reads_ = 0;   // transfers that read peer_window_
  std::size_t block_reads_ = 0;    // transfers that read into the block
  std::uint64_t block_bytes_ = 0;  // put into the block by messages
  bool offsets_cancelled_ = false;
  // An immediate that found a plain receive waiting and nothing before it: that one is open_.front() until
  // its outcome, in the same step, so that nothing is copied but the payload.
  bool taken_directly_ = false;
  Outcome direct_outcome_;
};

}  // namespace exs::proto
