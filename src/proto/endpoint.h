// One end of a connection: joins the mechanisms. Connection is its public face; tests use this one, whose
// inside can be looked at.
//
// Each thing that happens (a post, a completion, a request to end) is one step: take it in, then advance()
// does whatever has become possible, in a fixed order. So no mechanism needs to call another one. After a
// step nothing more is possible; so the steps of which little can follow, the frequent ones of small
// messages, do that little alone.
#pragma once

#include <cstdint>
#include <memory>

#include "src/proto/connection.h"
#include "src/proto/credit.h"
#include "src/proto/outbox.h"
#include "src/proto/probe.h"
#include "src/proto/rdma_read.h"
#include "src/proto/receive_side.h"
#include "src/proto/send_side.h"
#include "src/proto/shutdown.h"
#include "src/proto/slots.h"

namespace exs::proto {

// Constants that tests make small or strange.
struct Tuning {
  std::uint64_t read_chunk_bytes = kReadChunkBytes;
  std::uint32_t first_sequence = 1;
};

// Thread: shard.
class Endpoint {
 public:
  Endpoint(Role role, const Agreement& agreement, Link& link, OutcomeSink& sink, const Tuning& tuning = {});
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  // See Connection.
  Status start();
  void post_send(const Operation& operation);
  void post_receive(const Operation& operation);
  void handle(const Completion& completion);
  void flush();
  [[nodiscard]] bool combines() const noexcept { return sends_->combines(); }
  Cancelled cancel(Direction direction, const Selection& selection, int error);
  void end_turn();
  void set_nodelay(bool nodelay);
  void probe();
  void shutdown_sending();
  void shutdown_receiving();
  void close();
  void abort(Status why);

  [[nodiscard]] const Counters& counters() const noexcept { return counters_; }
  [[nodiscard]] const Agreement& agreement() const noexcept { return agreement_; }
  [[nodiscard]] const Credits& credits() const noexcept { return credits_; }
  [[nodiscard]] std::size_t credits_held() const noexcept { return receives_->credits_held(); }
  [[nodiscard]] Readiness readiness() const noexcept;
  [[nodiscard]] bool stalled() const noexcept { return sends_->stalled(); }
  [[nodiscard]] std::uint64_t oldest_post_ns(Direction direction) const noexcept;
  [[nodiscard]] bool shutdown_told() const noexcept { return endings_.shutdown_told(); }

 private:
  enum class State : std::uint8_t {
    kNew,            // start() has not been called
    kAwaitingReady,  // responder: nothing may be sent yet
    kOpen,
    kLosing,  // the link refuses posts; its last completion will tell why
    kEnded,   // the link went after the peer's close: what arrived can still be received
    kClosed,  // our close is complete
    kFailed,
  };

  [[nodiscard]] bool is_over() const noexcept { return state_ == State::kClosed || state_ == State::kFailed; }
  [[nodiscard]] bool link_is_up() const noexcept {
    return state_ == State::kAwaitingReady || state_ == State::kOpen;
  }

  // Nothing but plain messages goes on: neither an end nor anything persistent, no advert to answer.
  [[nodiscard]] bool is_steady() const noexcept;
  void send_left(const Completion& completion);
  void receive_ended();
  Status dispatch(const Completion& completion);
  Status message_arrived(std::uint64_t slot, std::uint32_t length_bytes);
  Status take(const wire::Message& message);
  Status take_persistence(const wire::Message& message);
  void take_ending(const wire::Header& header);
  void disconnected(Status status);

  void settle(Status status);
  Status advance();
  Status say();
  Status send_endings();
  void finish_close();
  void lose_link(State state);
  void fail(Status why);

  const Role role_;
  const Agreement agreement_;
  Link& link_;
  OutcomeSink& sink_;
  Counters counters_;
  Credits credits_;
  Slots slots_;
  Outbox outbox_;
  const std::unique_ptr<SendSide> sends_;
  const std::unique_ptr<ReceiveSide> receives_;
  Endings endings_;
  Probes probes_;
  bool notices_first_ = true;  // in the race for credits: they and the sends take turns
  State state_ = State::kNew;
};

}  // namespace exs::proto
