// One connection of the exs protocol, as a pure state machine: no threads, clocks, sockets or locks. Posted
// operations and provider completions go in; provider posts (on a Link) and outcomes (to an OutcomeSink) come
// out.
//
// Rules
//  1. Every posted operation ends in exactly one outcome, in post order within its direction. A cancelled one
//     need not wait for those before it.
//  2. Data messages leave in post order; each spends a credit of the peer, or waits for one.
//  3. A malformed, unexpected or uncredited message ends the connection with EPROTO, never the process.
//  4. After failed() or closed() nothing more is posted on the link, and every open operation has ended.
//
// Design notes
//  1. Each event (a post, a completion, a request to end) is one step. The step takes the event in. Then
//     advance() does everything that has become possible, in a fixed order. So no mechanism calls another one.
//  2. After a step nothing more is possible. Little can follow the frequent steps of small messages. So these
//     do that little alone and skip advance().
//  3. The most frequent steps are short: send_short(), short_receives(), take_short(). They ask once whether all is quiet, and that answer
//     holds until a step that is not short. Every other step forgets it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "base/check.h"
#include "src/proto/close_handshake.h"
#include "src/proto/credit.h"
#include "src/proto/credit_growth.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/proto/outbox.h"
#include "src/proto/probe.h"
#include "src/proto/rdma_chunks.h"
#include "src/proto/receive_side.h"
#include "src/proto/send_side.h"
#include "src/proto/short_path.h"
#include "src/proto/slots.h"
#include "src/proto/tagged/eager_window.h"
#include "src/proto/tagged/inbox.h"
#include "src/proto/tagged/wish.h"
#include "src/provider/provider.h"

namespace exs::proto {

// Constants that tests make small or strange.
struct Tuning {
  std::uint64_t read_chunk_bytes = kReadChunkBytes;
  std::uint32_t first_sequence = 1;
};

class MessageReceives;
class MessageSends;
class TaggedReceives;
class TaggedSends;

// Thread: shard.
class Connection {
 public:
  // `link` is established (initiator) or accepted and not yet flushed (responder); both outlive it.
  // `inbox`, which outlives it, too: for messages with tags, else null.
  // All that it does is counted in `counters`, but for the ends of operations, except those with tags.
  Connection(Role role, const Agreement& agreement, Link& link, OutcomeSink& sink, Counters& counters,
             const Tuning& tuning = {}, Inbox* inbox = nullptr);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Posts the receive slots; the initiator also sends its first message.
  Status start();

  // Sends at once what nothing keeps waiting; its outcome, which the sink does not hear of. Nothing: it must be posted, and nothing
  // has changed.
  bool send_now(const Operation& operation);
  // Sends a short message at once, and flushes the link for it.
  ShortSend send_short(LocalSlice payload) noexcept {
    return sends_short() ? path_.send(payload) : ShortSend::kNot;
  }
  // Likewise a message with a tag.
  ShortSend send_short(const Label& label, LocalSlice payload) noexcept;
  // Takes an immediate for a short receive, as take() does, and calls `deliver(receive, payload_bytes)`. False: see take().
  template <typename Deliver>
  bool take_short(const ArrivingMessage& message, Deliver&& deliver) {
    if (!takes_short() || !path_.take(message, std::forward<Deliver>(deliver))) return false;
    if (path_.credits.return_is_due()) return_credits();
    return true;
  }
  // Short receives, to which the caller may append one that is short: it is posted then, and waits. Null: it must be posted.
  [[nodiscard]] Fifo<Operation>* short_receives() noexcept {
    return takes_short() && path_.receives.has_room() ? &path_.receives : nullptr;
  }
  // Reads a window of the peer for a receive which nothing keeps waiting, where the link can at once, with its outcome. False: it
  // must be posted, and nothing has changed.
  bool read_now(const Operation& operation, Outcome& outcome);
  // read_now() may succeed.
  [[nodiscard]] bool may_read_now() const noexcept {
    return receives_->may_read_now() && path_.link.reads_now();
  }
  // Any other step that throws std::bad_alloc is to be followed by abort(), which needs no memory.
  PostState post_send(const Operation& operation);
  PostState post_receive(const Operation& operation);
  // A message at its arrival, before which none waits among the completions. False: nothing has changed, and it
  // comes as a completion.
  bool take(const ArrivingMessage& message);
  // Nothing but a short step has followed a take().
  [[nodiscard]] bool is_quiet() const noexcept { return path_.takes; }
  // Every completion of the link except kEstablished. After a batch of them the caller calls Port::flush().
  void handle(const Completion& completion);

  // Messages with tags: what the inbox kept is over (`taken`: by a receive), or read by a receive, or refused.
  void finish_kept(const Arrival& arrival, bool taken);
  // False: there is no memory for a read_kept().
  [[nodiscard]] bool prepare_read() noexcept;
  // Call it after prepare_read().
  void read_kept(std::uint32_t advert, const Operation& receive);
  void refuse_kept(std::uint32_t advert);
  // Messages with tags, when Inbox::filled() has said that the peer may hold some back: it is to let out those up to one that fits.
  void want(const Wish& wish);
  // Messages with tags: longer ones are read by their receiver.
  void set_eager_max(std::size_t bytes);

  // Starts what `more` or the combining of a stream's small sends holds back.
  void flush();
  // Something waits only for more sends to share its message: end_burst() must come within a moment.
  [[nodiscard]] bool is_combining() const noexcept { return sends_->is_combining(); }
  // The burst of posts is over: starts what combining holds back, not what `more` does.
  void end_burst();
  // Ends with `error` the operations that the peer has not begun with; they do not wait for those before.
  Cancelled cancel(Direction direction, const Selection& selection, int error);
  // A stream sends each small send by itself, at once.
  void set_nodelay(bool nodelay);
  // Asks the peer for a sign of life. Every completion of a receive is one.
  void probe();

  // End of our sending direction, after what was posted: the peer's receives see end of stream.
  void shutdown_sending();
  // Ends receiving: open and later receives end with end of stream, the peer's sends with EPIPE.
  void shutdown_receiving();
  // Closes in order: cancels open receives (ECANCELED), lets sends finish, shakes hands, then calls
  // sink.closed().
  void close();
  // Gives up: every open operation ends with `why`, then sink.failed(why). Closes the link.
  void abort(Status why);

  [[nodiscard]] const Agreement& agreement() const noexcept { return agreement_; }
  [[nodiscard]] Readiness readiness() const noexcept;
  // The peer's persistent receive, to be mapped. EAGAIN: none stands. EACCES: its owner does not want that.
  [[nodiscard]] Result<RemoteSlice> mappable_window() const { return sends_->mappable_window(); }
  // A send waits for a credit.
  [[nodiscard]] bool stalled() const noexcept { return sends_->stalled(); }
  // The post time of the oldest open operation that is not persistent. UINT64_MAX: there is none, or none
  // with a known time.
  [[nodiscard]] std::uint64_t oldest_post_ns(Direction direction) const noexcept;
  // The SHUTDOWN for each request has been sent, or is not needed any more.
  [[nodiscard]] bool shutdown_announced() const noexcept { return close_handshake_.shutdown_announced(); }
  // For tests: the places of the credits.
  [[nodiscard]] const Credits& credits() const noexcept { return path_.credits; }
  [[nodiscard]] std::size_t credits_held() const noexcept { return receives_->credits_held(); }

 private:
  enum class State : std::uint8_t {
    kNew,            // start() has not been called
    kAwaitingReady,  // responder: nothing may be sent yet
    kOpen,
    kLosing,  // the link refuses posts; its last completion will say why
    kEnded,   // the link ended after the peer's close: what arrived can still be received
    kClosed,  // our close is complete
    kFailed,
  };

  [[nodiscard]] bool is_over() const noexcept { return state_ == State::kClosed || state_ == State::kFailed; }
  [[nodiscard]] bool link_is_up() const noexcept {
    return state_ == State::kAwaitingReady || state_ == State::kOpen;
  }

  // Only plain messages are in progress: no end, nothing persistent, no advert to answer.
  [[nodiscard]] bool is_steady() const noexcept;
  // The sides of messages, and of messages with tags.
  [[nodiscard]] MessageSends& message_sends() const noexcept;
  [[nodiscard]] MessageReceives& message_receives() const noexcept;
  [[nodiscard]] TaggedSends& tagged_sends() const noexcept;
  [[nodiscard]] TaggedReceives& tagged_receives() const noexcept;
  [[nodiscard]] bool is_tagged() const noexcept { return agreement_.kind == SocketKind::kTagged; }
  [[nodiscard]] bool may_send_short() const noexcept;
  [[nodiscard]] bool may_take_short() const noexcept;
  [[nodiscard]] bool sends_short() noexcept {
    if (!path_.sends) path_.sends = may_send_short();
    EXS_DEBUG_CHECK(path_.sends == may_send_short());
    return path_.sends;
  }
  [[nodiscard]] bool takes_short() noexcept {
    if (!path_.takes) path_.takes = may_take_short();
    EXS_DEBUG_CHECK(path_.takes == may_take_short());
    return path_.takes;
  }
  void return_credits();
  void forget_quiet() noexcept { path_.sends = path_.takes = false; }
  bool take_tagged(const ArrivingMessage& message);
  bool take_credit(const ArrivingMessage& message);
  void send_steadily();
  void on_send(const Completion& completion);
  void finish_direct_receive();
  Status dispatch(const Completion& completion);
  Status on_receive(std::uint64_t slot, std::uint32_t length_bytes);
  Status on_control(const wire::Message& message);
  Status on_persistence(const wire::Message& message);
  Status on_growth(const wire::Message& message);
  void on_shutdown(const wire::Header& header);
  void on_disconnect(Status status);

  [[nodiscard]] std::unique_ptr<SendSide> make_sends(const Tuning& tuning);
  [[nodiscard]] std::unique_ptr<ReceiveSide> make_receives(const Tuning& tuning, Inbox* inbox);
  void settle(Status status);
  Status advance();
  Status transmit_pending();
  Status send_shutdown_or_close();
  void finish_close();
  void lose_link(State state);
  void fail(Status why);

  ShortPath path_;
  const Role role_;
  Agreement agreement_;  // its credits are those of this moment
  OutcomeSink& sink_;
  Slots slots_;
  Outbox outbox_;
  CreditGrowth growth_;
  EagerWindow eager_;  // messages with tags
  const std::unique_ptr<SendSide> sends_;
  const std::unique_ptr<ReceiveSide> receives_;
  CloseHandshake close_handshake_;
  Probes probes_;
  bool notices_first_ = true;  // in the race for credits, in which notices and sends alternate
  State state_ = State::kNew;
};

}  // namespace exs::proto
