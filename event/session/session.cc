// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/session.h"

#include "event/queue/attachment.h"
#include "event/queue/transfer_event.h"
#include "src/log/log.h"

namespace exs {
Session::Session(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                 std::uint32_t operations_max, stats::ConnectionKind kind)
    : shard_(std::move(shard)),
      descriptor_(std::move(descriptor)),
      operations_max_(operations_max),
      record_(shard_->stats_page(), kind, descriptor_->number()),
      polls_(descriptor_),
      late_sends_(*shard_, *this, proto::Direction::kSend),
      late_receives_(*shard_, *this, proto::Direction::kReceive) {
  close_targets_.reserve(1);
}

Status Session::admit(proto::Direction direction, bool persistent) {
  const State state = this->state();
  if (direction == proto::Direction::kSend && sending_ended_ && state != State::kIdle &&
      state != State::kConnecting) {
    return Status(EPIPE);
  }
  if (state != State::kConnected) return Status(ENOTCONN);
  return open_operations(direction).admit(persistent, operations_max_);
}

// Without memory the queue does not know of the shard, whose engine brings its events then.
void Session::name_far(EventQueue& queue) noexcept {
  if (!far_queues_) far_queues_.reset(new (std::nothrow) FarQueues(shard_));
  if (far_queues_) far_queues_->name(queue);
}

Status Session::memory_fault() const noexcept {
  return fault(LogLevel::kWarn, EFAULT,
               "socket {}: memory of an operation was unmapped, or lost its rights, before its event, so the "
               "connection "
               "ends: EFAULT; unmap, protect or free memory after the event",
               descriptor_->number());
}

void Session::withdraw(proto::Direction direction, bool persistent) {
  open_operations(direction).withdraw(persistent);
}

bool Session::may_wait(const proto::Operation& operation) const noexcept {
  return combines_posts() && !operation.tag.queue->has_ready_fd();
}

bool Session::start_timed(proto::Direction direction, const proto::Operation& operation) {
  try {
    watch(direction).posted(operation.posted_ns, shared_from_this());
  } catch (const std::bad_alloc&) {
    proto::Operation unlimited = operation;
    unlimited.posted_ns = 0;  // of which the watch knows nothing
    end_operation(direction, unlimited, {.error = ENOMEM, .length_bytes = 0, .flags = 0});
    return false;
  }
  return start(direction, operation);
}

void Session::poll(const ControlTarget& target, std::uint32_t events) {
  shard_->assert_held();
  names(*target.queue);
  polls_.add(target, events);
  contained([&] { after_step(); });
}

void Session::answer_polls() {
  if (polls_.empty()) return;
  const proto::Readiness ready = readiness();
  if (const std::uint32_t told = revents(ready); told != 0) polls_.answer(told, ready.next_bytes);
}

std::uint32_t Session::revents(const proto::Readiness& ready) const {
  if (state() == State::kEnded) return EXS_POLLERR | EXS_POLLHUP;
  std::uint32_t revents = 0;
  if (ready.receive) revents |= EXS_POLLIN;
  if (ready.send || sending_ended_) revents |= EXS_POLLOUT;
  if (ready.peer_ended && ready.peer_stopped) revents |= EXS_POLLHUP;
  if (ready.broken) revents |= EXS_POLLERR;
  return revents;
}

std::uint32_t Session::cancel(const proto::Selection& selection) {
  shard_->assert_held();
  std::uint32_t matched = 0;
  contained([&] {
    matched += cancel_transfers(proto::Direction::kSend, selection, ECANCELED).matched;
    matched += cancel_transfers(proto::Direction::kReceive, selection, ECANCELED).matched;
    matched += cancel_pooled(selection) + polls_.cancel(selection) + cancel_control(selection);
    after_step();
  });
  return matched;
}

std::string Session::error_text() {
  std::string text;
  shard_->inspect([&] { text = error_text_; });
  return text;
}

std::string Session::peer_name() const {
  return name_of_peer(descriptor_->number());
}

void Session::note_stall(bool stalled) {
  if (stalled == is_stalled()) return;
  stats::Counters& counters = record_.counters();
  const std::uint64_t now_ns = shard_->clock().now_ns();
  if (!stalled) counters.stalled_ns += now_ns - counters.stalled_since_ns;
  counters.stalled_since_ns = stalled ? now_ns : 0;
}

std::uint64_t Session::stalled_ns() const {
  shard_->assert_held();
  const stats::Counters& counters = record_.counters();
  return counters.stalled_ns + (is_stalled() ? shard_->clock().now_ns() - counters.stalled_since_ns : 0);
}

void Session::count_end(proto::Direction direction, int error) noexcept {
  stats::Counters& counters = record_.counters();
  ++(direction == proto::Direction::kSend ? counters.sends_done : counters.receives_done);
  if (error != 0) ++counters.errors;
  if (error == ECANCELED) ++counters.cancelled;
  if (error == ETIMEDOUT) ++counters.timed_out;
}

void Session::end_operation(proto::Direction direction, const proto::Operation& operation,
                            const proto::Outcome& outcome) {
  if (operation.tag.pooled) {
    count_end(direction, outcome.error);
    return pooled_->take(descriptor_, operation, outcome);
  }
  if (operation.posted_ns != 0) watch(direction).ended(operation.posted_ns);
  count_end(direction, outcome.error);
  // Everything is given back before the event can be seen: its receiver may post, deregister and delete.
  if (operation.tag.region != nullptr) operation.tag.region->release_here(*shard_);
  if (operation.tag.attachment != nullptr) return end_attached(direction, operation, outcome);
  open_operations(direction).end(operation.persistent);
  push_outcome(direction, operation, outcome);
}

// The event names what the attachment knows.
void Session::end_attached(proto::Direction direction, const proto::Operation& operation,
                           const proto::Outcome& outcome) {
  exs_event_t event{};
  make_transfer_event(event, descriptor_->number(), direction, operation, outcome);
  Attachment::Destroyer()(operation.tag.attachment);
  open_operations(direction).end(operation.persistent);
  if (is_told(operation, outcome)) {
    operation.tag.queue->push(event, descriptor_);
  } else {
    operation.tag.queue->cancel_reservation();
  }
}

void Session::end_at_once(const proto::Operation& receive, const proto::Outcome& outcome) {
  count_end(proto::Direction::kReceive, outcome.error);
  push_outcome(proto::Direction::kReceive, receive, outcome);
}

void Session::push_outcome(proto::Direction direction, const proto::Operation& operation,
                           const proto::Outcome& outcome) {
  if (!is_told(operation, outcome)) return operation.tag.queue->cancel_reservation();
  operation.tag.queue->push_made(
      [&](exs_event_t& event) {
        make_transfer_event(event, descriptor_->number(), direction, operation, outcome);
      },
      descriptor_);
}

// ---------------------------------------------------------------- the pooled receive

void Session::receive_pooled(std::shared_ptr<PooledReceive> receive) {
  shard_->assert_held();
  names(receive->queue());
  pooled_ = std::move(receive);
  contained([&] { after_step(); });
}

void Session::advance_pooled() {
  shard_->assert_held();
  if (pooled_) contained([&] { after_step(); });
}

void Session::receive_into_pool() {
  const std::shared_ptr<PooledReceive> receive = pooled_;
  if (!receive->advance(*this, pooled_messages_max())) return;
  pooled_.reset();
  open_receives_.end(true);
  receive->end(descriptor_);
}

// Pending receives that the peer has not begun with end at once. The others end by themselves.
void Session::stop_pooled(int error) {
  if (!pooled_) return;
  pooled_->stop(error);
  proto::Selection posted_by_it;
  posted_by_it.pooled = true;
  cancel_transfers(proto::Direction::kReceive, posted_by_it, error);
  if (pooled_) receive_into_pool();
}

std::uint32_t Session::cancel_pooled(const proto::Selection& selection) {
  if (!pooled_ || !pooled_->wants_more() || !selection.names(pooled_->handle())) return 0;
  stop_pooled(ECANCELED);
  return 1;
}

// ---------------------------------------------------------------- events

void Session::tell_use(const proto::Operation& operation, const proto::Usage& usage) {
  operation.tag.attachment->notice->report(usage);
}

void Session::push_control(const ControlTarget& target, int type, int error) {
  target.queue->push(control_event(target, *descriptor_, type, error), descriptor_);
}

void Session::set_time_limit(proto::Direction direction, std::shared_ptr<TimeLimit> limit) {
  (direction == proto::Direction::kSend ? sends_limited_ : receives_limited_) = limit != nullptr;
  watch(direction).set(std::move(limit), shared_from_this());
}

// The limit still cancels, if wanted, even without a slot for its notices.
void Session::inherit_limit(proto::Direction direction, const TimeLimitWish& wish) {
  if (!wish.is_set()) return;
  auto limit = TimeLimit::create(wish, direction, descriptor());
  if (!limit) {
    log(LogLevel::kWarn, "socket {} from {}: no slot for the notices of its time limit: give the queue more",
        descriptor()->number(), peer_name());
    limit = std::make_shared<TimeLimit>(wish);
  }
  set_time_limit(direction, std::move(limit));
}

// An operation that the peer has begun with cannot be taken back: then the connection ends. So it does when the
// peer has not said for another such time whether it has.
bool Session::end_late(proto::Direction direction, std::uint64_t posted_until_ns) {
  proto::Selection late;
  late.posted_until_ns = posted_until_ns;
  const proto::Cancelled cancelled = cancel_transfers(direction, late, ETIMEDOUT);
  const std::uint64_t limit_ns = watch(direction).limit()->ns();
  bool unanswered = false;
  if (cancelled.asked > 0 && posted_until_ns > limit_ns) {
    late.posted_until_ns = posted_until_ns - limit_ns;
    unanswered = cancel_transfers(direction, late, ETIMEDOUT).asked > 0;
  }
  if (cancelled.begun == 0 && !unanswered) {
    after_step();
    return cancelled.asked > 0;
  }
  abort(fault(LogLevel::kWarn, ETIMEDOUT,
              "socket {}: {} with {} took longer than its limit, and the peer has begun with it",
              descriptor_->number(), direction == proto::Direction::kSend ? "a send" : "a receive",
              peer_name()));
  return false;
}

// Without memory to wait, the shutdown still takes place. Its event reports that it did not wait.
void Session::add_shutdown(const ControlTarget& target) {
  if (!target.queue) return;
  names(*target.queue);
  try {
    shutdown_targets_.push_back(target);
  } catch (const std::bad_alloc&) {
    push_control(target, EXS_EVT_SHUTDOWN, ENOMEM);
  }
}

void Session::add_close(ControlTarget target) {
  if (target.queue) names(*target.queue);
  close_targets_.push_back(std::move(target));
}

void Session::tell_shutdowns(int error) {
  for (const ControlTarget& target : shutdown_targets_) push_control(target, EXS_EVT_SHUTDOWN, error);
  shutdown_targets_.clear();
}

std::uint32_t Session::cancel_control(const proto::Selection& selection) {
  return static_cast<std::uint32_t>(std::erase_if(shutdown_targets_, [&](const ControlTarget& target) {
    const bool named = selection.names(target.handle);
    if (named) push_control(target, EXS_EVT_SHUTDOWN, ECANCELED);
    return named;
  }));
}

void Session::tell_closed(int error) {
  for (const ControlTarget& target : close_targets_) {
    for (const auto direction : {proto::Direction::kSend, proto::Direction::kReceive})
      set_time_limit(direction, nullptr);
    if (on_closed_) std::exchange(on_closed_, {})(*this);
    if (target.queue) push_control(target, EXS_EVT_CLOSE, error);
  }
  close_targets_.clear();
}

}  // namespace exs
