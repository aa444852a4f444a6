// A connected socket on its shard: admits operations, keeps what they hold, and pushes their events.
// LinkSession (link_session.h) speaks the exs protocol over a provider's link, PlainSession (plain_session.h)
// moves plain bytes.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/guarded_copy.h"
#include "base/socket_address.h"
#include "event/engine/shard.h"
#include "event/queue/callers_events.h"
#include "event/queue/control_target.h"
#include "event/queue/region.h"
#include "event/queue/transfer_event.h"
#include "event/session/far_queues.h"
#include "event/session/open_operations.h"
#include "event/session/open_polls.h"
#include "event/session/pooled_receive.h"
#include "event/session/time_limit.h"
#include "event/stats/stats_page.h"
#include "src/proto/connection.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/provider/explanation.h"

namespace exs {

class Session : public TransferClient, public PooledSession, private LateOperations {
 public:
  using State = stats::State;

  Session(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
          std::uint32_t operations_max, stats::ConnectionKind kind);

  // --- Thread: any ---
  [[nodiscard]] std::shared_ptr<Session> shared_from_this() {
    return std::static_pointer_cast<Session>(TransferClient::shared_from_this());
  }
  // Counts one more operation. ENOTCONN: not connected yet, or no more. EPIPE: the sending direction has
  // ended. Else as OpenOperations::admit().
  Status admit(proto::Direction direction, bool persistent);
  void withdraw(proto::Direction direction, bool persistent);
  void set_operations_max(std::uint32_t operations_max) { operations_max_ = operations_max; }
  // The operation has been admitted and its queue slot reserved: exactly one event follows.
  void post(proto::Direction direction, const proto::Operation& operation) {
    if (!is_limited(direction) || operation.persistent) return shard_->post(*this, direction, operation);
    shard_->post(*this, direction, timed(direction, operation));
  }
  // A receive that reads the peer's memory at once, and pushes the event into a reserved slot. Nothing of it is ever open: it is not
  // admitted, and uses no region beyond the call. False: it must be posted, and nothing has changed.
  bool read_at_once(const proto::Operation& operation) {
    return shard_->try_step([&] { return start_read(operation); });
  }
  [[nodiscard]] bool may_read_at_once() const noexcept { return reads_now_.load(std::memory_order_relaxed); }
  // The steady case of a short send: it leaves at once, and its event is pushed. The memory lies in a region. False: nothing has
  // changed, and post() or an error follows.
  [[nodiscard]] bool send_short(EventQueue& queue, const ShortTransfer& send) noexcept;
  // The steady case of a receive: it waits behind others for messages that come in the steady case. `region` has its memory.
  [[nodiscard]] bool receive_short(EventQueue& queue, Region& region, const ShortTransfer& receive) noexcept;
  // Sets the time of the post, if the direction has a time limit.
  [[nodiscard]] proto::Operation timed(proto::Direction direction, proto::Operation operation) const {
    if (is_limited(direction) && !operation.persistent) operation.posted_ns = shard_->clock().now_ns();
    return operation;
  }
  [[nodiscard]] State state() const noexcept { return state_.load(std::memory_order_acquire); }
  [[nodiscard]] const std::shared_ptr<Shard>& shard() const noexcept { return shard_; }
  [[nodiscard]] const std::shared_ptr<KernelDescriptor>& descriptor() const noexcept { return descriptor_; }
  void forbid_sending() { sending_ended_ = true; }
  // The longest immediate message, once connected.
  [[nodiscard]] std::size_t small_bytes() const noexcept { return small_bytes_; }
  // Allows persistent operations, and operations at an offset in the peer's.
  [[nodiscard]] virtual bool allows_persistent() const noexcept { return false; }
  [[nodiscard]] std::uint32_t open_count(proto::Direction direction) const {
    return (direction == proto::Direction::kSend ? open_sends_ : open_receives_).count();
  }
  // True: no messages, no persistent operations, no notice of what reaches the peer's memory.
  [[nodiscard]] virtual bool carries_plain_bytes() const noexcept { return false; }
  // Takes the drive lock.
  [[nodiscard]] virtual proto::Agreement agreement() = 0;
  // The name of what carries the bytes.
  [[nodiscard]] virtual std::string_view carrier() const noexcept = 0;
  // Null: the descriptor knows its addresses, or there is no connection.
  [[nodiscard]] virtual const AddressPair* ends() const noexcept { return nullptr; }
  // The reason for the choice of carrier. Takes the drive lock.
  [[nodiscard]] virtual Explanation explanation() { return {}; }
  // Why the connection, or its set-up, failed; empty: it has not. Takes the drive lock.
  [[nodiscard]] std::string error_text();
  void count_snapshot() noexcept { count_anywhere(record_.counters().snapshots); }
  void count_snapshot_retry() noexcept { count_anywhere(record_.counters().snapshot_retries); }
  [[nodiscard]] std::uint64_t snapshots() const noexcept { return counted(record_.counters().snapshots); }
  [[nodiscard]] std::uint64_t snapshot_retries() const noexcept {
    return counted(record_.counters().snapshot_retries);
  }

  // --- Thread: shard ---
  // What exs-top calls the connection.
  void set_label(std::string_view label) noexcept { record_.set_label(label); }
  // The text of error_text().
  [[nodiscard]] const std::string& failure_words() const {
    shard_->assert_held();
    return error_text_;
  }
  FollowUp carry_out(proto::Direction direction, const proto::Operation& operation) final {
    shard_->assert_held();
    names(*operation.tag.queue);
    const bool waits =
        operation.posted_ns == 0 ? start(direction, operation) : start_timed(direction, operation);
    contained([&] { after_step(); });
    if (has_pooled() || !polls_.empty()) return FollowUp::kAtOnce;
    if (waits) return FollowUp::kNothing;
    if (direction != proto::Direction::kSend || !may_wait(operation)) return FollowUp::kAtOnce;
    if (follows_send()) return FollowUp::kAtLeisure;
    note_send();
    return FollowUp::kAtOnce;
  }
  // Pushes EXS_EVT_POLL, now or after the step that makes the socket ready for one of `events`.
  void poll(const ControlTarget& target, std::uint32_t events);
  // Pushes EXS_EVT_MAP once the peer's window is there, or cannot be had.
  virtual void map_window(const ControlTarget& target) { push_control(target, EXS_EVT_MAP, EOPNOTSUPP); }
  // Receives from now on into buffers of a pool. An operation that owns the direction has been admitted.
  void receive_pooled(std::shared_ptr<PooledReceive> receive);
  // --- PooledSession ---
  [[nodiscard]] bool has_arrivals() const final {
    return state() == State::kConnected && readiness().receive;
  }
  void start_receive(const proto::Operation& operation) final {
    start(proto::Direction::kReceive, operation);
  }
  [[nodiscard]] std::optional<int> why_ended() const noexcept final {
    return state() == State::kEnded ? std::optional<int>(end_error_) : std::nullopt;
  }
  void advance_pooled() final;
  [[nodiscard]] const std::shared_ptr<Shard>& home() const noexcept final { return shard_; }
  // ---
  // Cancels open operations of either direction, and polls. Returns the number that match.
  std::uint32_t cancel(const proto::Selection& selection);
  // Called once, just before the event of the close is pushed.
  void set_on_closed(std::function<void(Session&)> on_closed) {
    shard_->assert_held();
    on_closed_ = std::move(on_closed);
  }

  // The thread that makes the session may also call the next three, before other threads know the session.
  // Applies to operations posted from now on; null: no limit.
  void set_time_limit(proto::Direction direction, std::shared_ptr<TimeLimit> limit);
  // Gives an accepted connection the limit of the listening socket.
  void inherit_limit(proto::Direction direction, const TimeLimitWish& wish);
  // 0: off. A peer that is silent for a period is asked for a sign of life, and given up after a second one.
  virtual void set_keepalive(std::uint64_t period_ns) = 0;

  [[nodiscard]] const proto::Counters& counters() const noexcept {
    shard_->assert_held();
    return record_.counters();
  }
  // How long sends have waited for credits.
  [[nodiscard]] std::uint64_t stalled_ns() const;

  // True: it waits for the peer, and nothing else has changed. Without memory for it the operation ends with ENOMEM, alone or
  // with the connection.
  virtual bool start(proto::Direction direction, const proto::Operation& operation) = 0;
  // See read_at_once().
  virtual bool start_read(const proto::Operation& /*operation*/) { return false; }
  // Pushes EXS_EVT_SHUTDOWN when it is done, if `target` has a queue.
  virtual void shutdown(int how, ControlTarget target) = 0;
  // Pushes EXS_EVT_CLOSE when it is done, if `target` has a queue.
  virtual void close(std::uint64_t linger_ns, ControlTarget target) = 0;
  // Ends the connection at once, and open operations with `why`.
  virtual void abort(Status why) = 0;
  // Sends bytes that are held back to share a message or a system call.
  virtual void flush() = 0;
  // True: a stream's small sends leave at once, each in a message of its own.
  virtual void set_nodelay(bool /*nodelay*/) {}
  // Ends the transfers that the peer has not begun with, with `error`.
  virtual proto::Cancelled cancel_transfers(proto::Direction direction, const proto::Selection& selection,
                                            int error) = 0;
  [[nodiscard]] virtual proto::Readiness readiness() const = 0;

 protected:
  // Does a step. Where there is no memory for it the connection ends, with ENOMEM: that needs none. So it does with EFAULT where
  // memory of an operation is not there.
  template <typename Step>
  void contained(Step&& step) noexcept {
    try {
      std::forward<Step>(step)();
    } catch (const MemoryGone&) {
      abort(memory_fault());
    } catch (const std::bad_alloc&) {
      abort(Status(ENOMEM));
    }
  }
  [[nodiscard]] Status memory_fault() const noexcept;
  // Called after every step (an operation, a completion, a request): reports what the step has changed.
  virtual void after_step() {
    if (pooled_) receive_into_pool();
    if (!polls_.empty()) answer_polls();
  }
  // Sends cost less if they leave together.
  [[nodiscard]] virtual bool combines_posts() const noexcept { return false; }
  // How many messages a pooled receive takes in one step; the next step must come by itself.
  [[nodiscard]] virtual std::size_t pooled_messages_max() const noexcept { return SIZE_MAX; }
  [[nodiscard]] bool pooled_wants_data() const noexcept { return pooled_ && pooled_->wants_data(); }
  [[nodiscard]] bool has_pooled() const noexcept { return pooled_ != nullptr; }
  void stop_pooled(int error);
  [[nodiscard]] int end_error() const noexcept { return end_error_; }
  // Call it before the end of the step that ends the session.
  void note_end(int error) noexcept { end_error_ = error == 0 ? ECANCELED : error; }
  // Cancels the control operations that the selection names. Returns their number. A cancelled shutdown still
  // takes place; its event reports that it did not wait.
  virtual std::uint32_t cancel_control(const proto::Selection& selection);
  void cancel_polls() { polls_.cancel_all(); }
  [[nodiscard]] const OpenPolls& polls() const noexcept { return polls_; }
  void note_stall(bool stalled);

  // Pushes the event of an admitted operation and gives back what it held.
  void end_operation(proto::Direction direction, const proto::Operation& operation,
                     const proto::Outcome& outcome);
  // Likewise for a receive of read_at_once().
  void end_at_once(const proto::Operation& receive, const proto::Outcome& outcome);
  // Notifies the owner of a persistent operation that the peer has used it. The operation has EXS_NOTIFY.
  static void tell_use(const proto::Operation& operation, const proto::Usage& usage);
  // Likewise for a short receive that took what fitted of so many bytes.
  void end_short_receive(const proto::Operation& operation, std::uint64_t payload_bytes);
  // after_step() has something to do.
  [[nodiscard]] bool has_more_to_report() const noexcept {
    return pooled_ || !polls_.empty() || has_shutdowns() || is_stalled();
  }
  void push_control(const ControlTarget& target, int type, int error);
  // A wait for the queue drives the shard of the session from now on, if it is not the queue's home.
  void names(EventQueue& queue) noexcept {
    if (queue.home().get() != shard_.get()) name_far(queue);
  }
  void name_far(EventQueue& queue) noexcept;
  // Keeps the text of the error that ends the connection for error_text(). Later ones follow from the first.
  void keep_error_text(int error, std::string text) {
    shard_->assert_held();
    if (error_text_.empty()) record_.note_error(error, text);
    error_text_ = std::move(text);
  }
  // "127.0.0.1:7471"
  [[nodiscard]] virtual std::string peer_name() const;
  // Push EXS_EVT_SHUTDOWN or EXS_EVT_CLOSE to all targets that were added. The close comes last: it says that
  // every other event is in its queue.
  void add_shutdown(const ControlTarget& target);
  [[nodiscard]] bool has_shutdowns() const noexcept { return !shutdown_targets_.empty(); }
  void tell_shutdowns(int error);
  void add_close(ControlTarget target);
  void tell_closed(int error);
  void set_state(State state) noexcept {
    state_ = state;
    record_.set_state(state);
  }
  [[nodiscard]] proto::Counters& counters_here() noexcept {
    shard_->assert_held();
    return record_.counters();
  }
  void set_way(const StatsRecord::ConnectionWay& way) noexcept { record_.set_way(way); }
  // Call it once connected.
  void allow_send_short() { sends_short_ = true; }
  void allow_read_now(bool may) { reads_now_.store(may, std::memory_order_relaxed); }
  void set_small_bytes(std::size_t bytes) { small_bytes_ = bytes; }
  // The connection that carries short messages from now on. Null: none does.
  void carry_short(proto::Connection* connection) noexcept { short_ = connection; }
  // Whether short sends cost less if they leave together.
  void combine_short(bool combines) noexcept { combines_short_ = combines; }

 private:
  LateWatch& watch(proto::Direction direction) {
    return direction == proto::Direction::kSend ? late_sends_ : late_receives_;
  }
  [[nodiscard]] bool is_limited(proto::Direction direction) const noexcept {
    return (direction == proto::Direction::kSend ? sends_limited_ : receives_limited_)
        .load(std::memory_order_relaxed);
  }
  // LateOperations
  bool end_late(proto::Direction direction, std::uint64_t posted_until_ns) override;
  void contain_report(const std::function<void()>& report) override { contained(report); }
  OpenOperations& open_operations(proto::Direction direction) {
    return direction == proto::Direction::kSend ? open_sends_ : open_receives_;
  }
  // A send may wait for others and leave with them, unless its poster sleeps on a descriptor before it drives
  // again.
  [[nodiscard]] bool may_wait(const proto::Operation& operation) const noexcept;
  // Of sends that follow each other without a poll of the network, only the first leaves alone.
  [[nodiscard]] bool follows_send() const noexcept {
    shard_->assert_held();
    return sent_after_poll_ == shard_->polls();
  }
  void note_send() noexcept {
    shard_->assert_held();
    sent_after_poll_ = shard_->polls();
    shard_->note_post();
  }
  proto::ShortSend send_short_once(EventQueue& queue, const ShortTransfer& send) noexcept;
  bool post_short_receive(EventQueue& queue, Region& region, const ShortTransfer& receive) noexcept;
  bool start_timed(proto::Direction direction, const proto::Operation& operation);
  [[nodiscard]] static bool is_told(const proto::Operation& operation, const proto::Outcome& outcome) {
    return !operation.tag.no_event || outcome.error != 0;
  }
  void end_attached(proto::Direction direction, const proto::Operation& operation,
                    const proto::Outcome& outcome);
  void push_outcome(proto::Direction direction, const proto::Operation& operation,
                    const proto::Outcome& outcome);
  // The order of other memory does not depend on the numbers.
  static void count_anywhere(std::uint64_t& counter) noexcept {
    std::atomic_ref<std::uint64_t>(counter).fetch_add(1, std::memory_order_relaxed);
  }
  static std::uint64_t counted(const std::uint64_t& counter) noexcept {
    return __atomic_load_n(&counter, __ATOMIC_RELAXED);  // atomic_ref takes no constant
  }
  void count_end(proto::Direction direction, int error) noexcept;
  [[nodiscard]] bool is_stalled() const noexcept { return record_.counters().stalled_since_ns != 0; }
  void receive_into_pool();
  std::uint32_t cancel_pooled(const proto::Selection& selection);
  void answer_polls();
  [[nodiscard]] std::uint32_t revents(const proto::Readiness& ready) const;

  const std::shared_ptr<Shard> shard_;
  const std::shared_ptr<KernelDescriptor> descriptor_;

  // What every short message touches comes first: of many connections at a time, no cache holds more.
  // Read by posting threads to refuse early; written by the shard (and the counts by both). What a thread
  // misses because it read a moment too soon ends in an event instead of an errno.
  std::atomic<State> state_{State::kIdle};
  std::atomic<bool> sending_ended_{false};
  std::atomic<bool> sends_short_{false};  // messages may leave by send_short()
  std::atomic<bool> reads_now_{false};    // the peer's memory may be read at once
  std::atomic<bool> sends_limited_{false};
  std::atomic<bool> receives_limited_{false};
  bool combines_short_ = false;  // thread: shard
  std::atomic<std::uint32_t> operations_max_;
  OpenOperations open_sends_;
  OpenOperations open_receives_;
  StatsRecord record_;

  // Thread: shard
  proto::Connection* short_ = nullptr;
  std::uint64_t sent_after_poll_ = UINT64_MAX;  // the last poll before the last send that may have company
  std::shared_ptr<PooledReceive> pooled_;
  OpenPolls polls_;
  std::vector<ControlTarget> shutdown_targets_;
  std::unique_ptr<FarQueues> far_queues_;  // null: no operation has named one
  LateWatch late_sends_;
  LateWatch late_receives_;
  int end_error_ = 0;
  std::vector<ControlTarget> close_targets_;
  std::function<void(Session&)> on_closed_;
  std::string error_text_;

  std::atomic<std::size_t> small_bytes_{0};
};

// ---------------------------------------------------------------- short messages, in one piece with their callers

inline bool Session::send_short(EventQueue& queue, const ShortTransfer& send) noexcept {
  if (!sends_short_.load(std::memory_order_relaxed) || sending_ended_.load(std::memory_order_relaxed))
    return false;
  return shard_->short_send([&] { return send_short_once(queue, send); });
}

inline proto::ShortSend Session::send_short_once(EventQueue& queue, const ShortTransfer& send) noexcept {
  proto::ShortSend sent = proto::ShortSend::kNot;
  const auto leave = [&] {
    if (short_ == nullptr || (combines_short_ && follows_send())) return false;
    sent = short_->send_short({send.address, send.length_bytes, {}});
    return sent == proto::ShortSend::kSent;
  };
  const auto make = [&](exs_event_t& event) { make_sent_event(event, descriptor_->number(), send); };
  const bool has_left =
      send.no_event ? queue.do_if_free(leave) : queue.push_at_once(leave, make, descriptor_);
  if (has_left) ++record_.counters().sends_done;
  if (has_left && combines_short_) note_send();
  return sent;
}

inline bool Session::receive_short(EventQueue& queue, Region& region, const ShortTransfer& receive) noexcept {
  if (state() != State::kConnected || is_limited(proto::Direction::kReceive)) return false;
  return shard_->short_step([&] { return post_short_receive(queue, region, receive); });
}

// Everything that can fail comes before the place is taken.
inline bool Session::post_short_receive(EventQueue& queue, Region& region,
                                        const ShortTransfer& receive) noexcept {
  Fifo<proto::Operation>* const receives = short_ == nullptr || pooled_ ? nullptr : short_->short_receives();
  if (receives == nullptr || !queue.reserve_at_once()) return false;
  if (!region.use_here(*shard_)) {
    queue.cancel_reservation();
    return false;
  }
  if (!open_receives_.admit_here(operations_max_.load(std::memory_order_relaxed))) {
    region.release_here(*shard_);
    queue.cancel_reservation();
    return false;
  }
  names(queue);
  proto::Operation& operation = receives->append();
  operation = {};
  operation.memory = {receive.address, receive.length_bytes, region.key()};
  operation.tag.queue = &queue;
  operation.tag.region = &region;
  operation.tag.handle = receive.handle;
  operation.tag.memory_handle = receive.region;
  operation.tag.no_event = receive.no_event;
  operation.is_short = true;
  return true;
}

inline void Session::end_short_receive(const proto::Operation& operation, std::uint64_t payload_bytes) {
  ++record_.counters().receives_done;
  operation.tag.region->release_here(*shard_);
  open_receives_.end(false);
  EventQueue& queue = *operation.tag.queue;
  if (operation.tag.no_event) return queue.cancel_reservation();
  const auto make = [&](exs_event_t& event) {
    make_received_event(event, descriptor_->number(), operation, payload_bytes);
  };
  shard_->assert_held();
  CallersEvents* const caller = shard_->caller();
  exs_event_t* const place = caller != nullptr ? caller->place_for(queue) : nullptr;
  if (place == nullptr) return queue.push_made(make, descriptor_);
  make(*place);
}

}  // namespace exs
