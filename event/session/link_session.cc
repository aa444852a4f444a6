#include "event/session/link_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "src/base/kernel.h"
#include "src/base/log.h"

namespace exs {
namespace {

// Two sends of a turn that holds nothing back are no further apart: for a thread that waits on other queues,
// or not at all, the later one begins another turn.
constexpr std::uint64_t kSameTurnNs = 10'000;
// How long after a turn the next one may take it for an example.
constexpr std::uint64_t kExampleNs = 100'000;

}  // namespace

LinkSession::LinkSession(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                         const SessionOptions& options)
    : Session(std::move(shard), std::move(descriptor), options.operations_max),
      options_(options),
      route_(options.choice),
      nodelay_(options.nodelay) {}

LinkSession::~LinkSession() = default;

proto::Counters LinkSession::counters() const {
  return connection_ ? connection_->counters() : last_counters_;
}

proto::Agreement LinkSession::agreement() {
  proto::Agreement agreement;
  shard()->inspect([&] { agreement = connection_ ? connection_->agreement() : last_agreement_; });
  return agreement;
}

// ---------------------------------------------------------------- the life of a connection

void LinkSession::start(proto::Direction direction, const proto::Operation& operation) {
  const bool in_stream = direction == proto::Direction::kSend && is_stream();
  if (in_stream && connection_) keep_turn();
  if (!connection_) {  // ended between admit() and here
    end_operation(direction, operation,
                  {.error = state() == State::kEnded ? ECONNRESET : ENOTCONN, .length_bytes = 0, .flags = 0});
  } else if (direction == proto::Direction::kSend) {
    connection_->post_send(operation);
  } else {
    connection_->post_receive(operation);
  }
  if (in_stream && connection_ && connection_->combines()) shard()->bytes_held();
}

// The connection combines the small sends of one turn, and need not know how long a turn may last.
void LinkSession::keep_turn() {
  if (in_turn_ && connection_->combines()) return;
  const std::uint64_t now_ns = in_turn_ ? monotonic_ns() : shard()->looked_ns();
  // It may be the end of the session, too.
  if (now_ns - turn_ns_ > (in_turn_ ? kSameTurnNs : kExampleNs)) connection_->end_turn();
  turn_ns_ = now_ns;
  if (in_turn_ || !connection_) return;
  in_turn_ = true;
  shard()->join_turn(*this);
}

void LinkSession::turn_ended() {
  in_turn_ = false;
  turn_ns_ = shard()->looked_ns();
  if (connection_) connection_->end_turn();
  stepped();
}

void LinkSession::set_nodelay(bool nodelay) {
  nodelay_ = nodelay;
  if (connection_) connection_->set_nodelay(nodelay);
}

void LinkSession::complete(const Completion& completion) {
  if (completion.kind == CompletionKind::kMet) {
    met(completion.status);
  } else {
    take(completion);
  }
  stepped();
}

void LinkSession::take(const Completion& completion) {
  if (!link_) return;
  if (completion.kind == CompletionKind::kReceive || completion.kind == CompletionKind::kRead) heard_ = true;
  if (connection_) {
    if (completion.kind != CompletionKind::kEstablished) connection_->handle(completion);
  } else if (completion.kind == CompletionKind::kEstablished) {
    established();
  } else if (completion.kind == CompletionKind::kDisconnected) {
    way_failed(completion.status.ok() ? Status(ECONNRESET) : completion.status);
  }
}

// Connecting side: our first message is on its way. Accepting side: the peer's is here.
void LinkSession::ready() {
  if (state() == State::kClosing) return;  // the deadline is that of the close
  deadline_ns_ = kNoDeadline;
  if (state() != State::kConnecting) return;
  set_small_bytes(connection_->agreement().small_bytes);
  set_state(State::kConnected);
  set_keepalive(options_.keepalive_ns);
  push_control(connect_target_, EXS_EVT_CONNECT, 0);
  connect_target_ = {};
}

// What a step may have changed, beside the outcomes that the connection tells by itself.
void LinkSession::stepped() {
  if (connection_) {
    note_stall(connection_->stalled());
    if (!shutdown_targets_.empty() && connection_->shutdown_told()) tell_shutdowns(0);
  }
  Session::stepped();
}

void LinkSession::shutdown(int how, ControlTarget target) {
  if (target.queue) shutdown_targets_.push_back(std::move(target));
  if (!connection_) return tell_shutdowns(ECONNRESET);
  if (how != SHUT_RD) connection_->shutdown_sending();
  if (connection_ && how != SHUT_WR) connection_->shutdown_receiving();
  stepped();
}

void LinkSession::tell_shutdowns(int error) {
  for (const ControlTarget& target : shutdown_targets_) push_control(target, EXS_EVT_SHUTDOWN, error);
  shutdown_targets_.clear();
}

// A shutdown goes on: its event says that nobody waited for it. The connect ends with its session.
std::uint32_t LinkSession::cancel_control(const proto::Selection& selection) {
  auto cancelled =
      static_cast<std::uint32_t>(std::erase_if(shutdown_targets_, [&](const ControlTarget& target) {
        const bool named = selection.names(target.handle);
        if (named) push_control(target, EXS_EVT_SHUTDOWN, ECANCELED);
        return named;
      }));
  if (connect_target_.queue && selection.names(connect_target_.handle)) {
    ++cancelled;
    abort(Status(ECANCELED));
  }
  return cancelled;
}

// A write that has left proves nothing: the kernel takes it, whether or not the peer lives.
void LinkSession::set_keepalive(std::uint64_t period_ns) {
  keepalive_ns_ = period_ns;
  heard_ = true;
  silent_periods_ = 0;
  keepalive_due_.drop();
  if (period_ns == 0 || state() != State::kConnected) return;
  keepalive_due_.set(*shard(), monotonic_ns() + period_ns, shared_from_this());
}

void LinkSession::look_for_signs_of_life(std::uint64_t now_ns) {
  if (state() != State::kConnected) return;  // a close has its own limit
  silent_periods_ = heard_ ? 0 : silent_periods_ + 1;
  heard_ = false;
  if (silent_periods_ > 1) {
    log(LogLevel::kWarn, "socket %d: the peer has been silent for two keep-alive periods: ETIMEDOUT",
        descriptor()->number());
    return abort(Status(ETIMEDOUT));
  }
  keepalive_due_.set(*shard(), now_ns + keepalive_ns_, shared_from_this());
  if (silent_periods_ == 1) connection_->probe();
}

void LinkSession::flush() {
  if (connection_) connection_->flush();
}

proto::Cancelled LinkSession::cancel_transfers(proto::Direction direction, const proto::Selection& selection,
                                               int error) {
  return connection_ ? connection_->cancel(direction, selection, error) : proto::Cancelled{};
}

proto::Readiness LinkSession::readiness() const {
  return connection_ ? connection_->readiness() : proto::Readiness{};
}

void LinkSession::close(std::uint64_t linger_ns, ControlTarget target) {
  close_targets_.push_back(std::move(target));
  cancel_polls();
  if (state() == State::kEnded || !connection_) return end(Status(ECANCELED));
  if (state() == State::kClosing) return;
  set_state(State::kClosing);
  if (linger_ns == 0) return abort(Status(ECANCELED));
  arm(monotonic_ns() + linger_ns);
  connection_->close();
}

void LinkSession::abort(Status why) {
  if (connection_ && link_) {
    connection_->abort(why);
  } else {
    end(why);
  }
}

void LinkSession::arm(std::uint64_t deadline_ns) {
  deadline_ns_ = deadline_ns;
  shard()->arm_timer(deadline_ns_, shared_from_this());
}

void LinkSession::timer_fired(std::uint64_t now_ns) {
  if (now_ns < deadline_ns_) return;
  deadline_ns_ = kNoDeadline;
  if (device_is_slow(now_ns)) return give_up_device();
  close_overdue_ = state() == State::kClosing;
  log(LogLevel::kWarn, "socket %d: %s took longer than its limit", descriptor()->number(),
      close_overdue_ ? "close" : "connection set-up");
  abort(Status(close_overdue_ ? ECANCELED : ETIMEDOUT));
}

// ---------------------------------------------------------------- proto::OutcomeSink

void LinkSession::closed() {
  end(Status());
}

void LinkSession::failed(Status why) {
  end(why);
}

// The link and the protocol engine may be what called us: they die with the shard's batch, not here.
// A close is told last: it says that every other event is in its queue.
void LinkSession::end(Status why) {
  if (state() != State::kEnded) {
    set_state(State::kEnded);
    forbid_sending();
    deadline_ns_ = kNoDeadline;
    if (link_) link_->close();
    note_stall(false);
    if (connection_) {
      last_counters_ = connection_->counters();
      last_agreement_ = connection_->agreement();
    }
    kernel::shutdown(descriptor()->number(), SHUT_RDWR);
    shard()->bury({std::move(link_), std::move(connection_)});
    if (in_turn_) shard()->leave_turn(*this);
    in_turn_ = false;
    shard()->detach(token_);
  }
  end_connect(why);
  tell_shutdowns(why.error());
  Session::stepped();  // polls hear of it
  // Other errors have been told by the events of the operations they ended.
  const int error = close_overdue_ ? ETIMEDOUT : 0;
  for (const ControlTarget& target : close_targets_) push_closed(target, error);
  close_targets_.clear();
}

}  // namespace exs
