// One connection of the exs protocol, as a pure state machine: no threads, clocks, sockets or locks.
// Posted operations and provider completions go in; provider posts (on a Link) and outcomes (to an
// OutcomeSink) come out. Joins the mechanisms: hello, credit, advert, immediate, rdma_read, shutdown.
//
// Rules
//  1. Every posted operation ends in exactly one outcome, in post order within its direction.
//  2. Data messages leave in post order; each spends a credit of the peer, and waits for one if there is
//  none.
//  3. A malformed, unexpected or uncredited message ends the connection with EPROTO, never the process.
//  4. After failed() or closed() nothing more is posted on the link; every open operation has had its
//  outcome.
#pragma once

#include <cstdint>
#include <memory>

#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/provider/provider.h"

namespace exs::proto {

// Receives what the engine has to say. Must not call back into the Connection.
class OutcomeSink {
 public:
  virtual ~OutcomeSink() = default;
  virtual void completed(Direction direction, const Operation& operation, const Outcome& outcome) = 0;
  // The peer has used our persistent operation, which asked to be told. It stays posted.
  virtual void used(Direction direction, const Operation& operation, const Usage& usage) = 0;
  // Accepting side: the initiator's first message is here. Connecting side: ready as soon as started.
  virtual void ready() = 0;
  // The peer will accept no more data (its close, or its shutdown of receiving): later sends end in EPIPE.
  virtual void peer_stopped_receiving() = 0;
  // The close handshake we asked for is complete: the link may be closed.
  virtual void closed() = 0;
  // The connection is lost. Every open operation has already had its outcome.
  virtual void failed(Status why) = 0;
};

struct Counters {
  std::uint64_t sends_done = 0, receives_done = 0;
  std::uint64_t bytes_sent = 0, bytes_received = 0;
  std::uint64_t adverts_sent = 0, adverts_received = 0;
  std::uint64_t acks_sent = 0, acks_received = 0;
  std::uint64_t immediates_sent = 0, immediate_bytes = 0;
  std::uint64_t copied_bytes = 0, direct_bytes = 0;
  std::uint64_t credit_messages_sent = 0, credit_stalls = 0;
  std::uint64_t reads_posted = 0, control_messages_sent = 0;
  std::uint64_t writes_posted = 0, notices_sent = 0, notices_received = 0;
  std::uint64_t combined_sends = 0;
};

// What a caller may want to know between steps.
struct Readiness {
  bool receive = false;       // a receive posted now would end without anything more from the peer
  bool send = false;          // a send posted now would go out
  bool peer_ended = false;    // the peer sends no more data
  bool peer_stopped = false;  // the peer takes no more data
  bool broken = false;        // the connection is lost, which nobody has been told yet
};

enum class Role : std::uint8_t { kInitiator, kResponder };

// Thread: shard.
class Connection {
 public:
  // `link` is established (initiator) or accepted and not yet flushed (responder); it and `sink` outlive
  // this.
  Connection(Role role, const Agreement& agreement, Link& link, OutcomeSink& sink);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Posts the receive slots; the initiator also sends its first message.
  Status start();

  void post_send(const Operation& operation);
  void post_receive(const Operation& operation);
  // Every completion of the link except kEstablished. After a batch of these the caller calls Port::flush().
  void handle(const Completion& completion);

  // Starts what `more` or the combining of a stream's small sends holds back.
  void flush();
  // Something waits only for more sends to share its message: end_turn() must come within a moment.
  [[nodiscard]] bool combines() const noexcept;
  // Whoever posted has had its turn: starts what combining holds back, not what `more` does.
  void end_turn();
  // Ends the operations that the peer has not begun with, each with `error`, not necessarily in their turn.
  Cancelled cancel(Direction direction, const Selection& selection, int error);
  // A stream sends each small send by itself, at once.
  void set_nodelay(bool nodelay);
  // Asks the peer for a sign of life. Every completion of a receive is one.
  void probe();

  // End of our sending direction, after what was posted: the peer's receives see end of stream.
  void shutdown_sending();
  // No more receiving: open and later receives end with end of stream, the peer's sends with EPIPE.
  void shutdown_receiving();
  // Orderly close: cancels open receives (ECANCELED), lets sends finish, shakes hands, then sink.closed().
  void close();
  // Gives up: every open operation ends with `why`, then sink.failed(why). Closes the link.
  void abort(Status why);

  [[nodiscard]] const Counters& counters() const noexcept;
  [[nodiscard]] Readiness readiness() const noexcept;
  // A send waits for a credit.
  [[nodiscard]] bool stalled() const noexcept;
  // When the oldest open operation that is not persistent was posted; UINT64_MAX: none that was told when.
  [[nodiscard]] std::uint64_t oldest_post_ns(Direction direction) const noexcept;
  // SHUTDOWN of what was asked has been sent, or needs no telling any more.
  [[nodiscard]] bool shutdown_told() const noexcept;
  [[nodiscard]] const Agreement& agreement() const noexcept;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

// Depths of the link a Connection with this agreement needs.
LinkDepths link_depths(const Agreement& agreement);

}  // namespace exs::proto
