#include "event/session.h"

#include <sys/socket.h>

#include "event/region.h"
#include "src/base/log.h"

namespace exs {
namespace {

constexpr std::uint32_t event_flags(std::uint32_t outcome_flags) {
  std::uint32_t flags = 0;
  if ((outcome_flags & proto::kTruncated) != 0) flags |= EXS_EVF_TRUNC;
  if ((outcome_flags & proto::kEndOfStream) != 0) flags |= EXS_EVF_EOF;
  if ((outcome_flags & proto::kEndOfMessage) != 0) flags |= EXS_EVF_EOR;
  if ((outcome_flags & proto::kCopied) != 0) flags |= EXS_EVF_COPIED;
  if ((outcome_flags & proto::kImmediate) != 0) flags |= EXS_EVF_IMMEDIATE;
  return flags;
}

// The most that any peer can make of our wishes: what a link must be ready for before the peer has spoken.
proto::Agreement widest(const proto::Wishes& wishes) {
  return {.version = 0,
          .send_credits = wishes.send_credits,
          .receive_credits = wishes.receive_credits,
          .small_bytes = wishes.small_bytes,
          .reads_out = wishes.read_depth,
          .reads_in = wishes.read_depth};
}

}  // namespace

Session::Session(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                 const SessionOptions& options)
    : shard_(std::move(shard)),
      descriptor_(std::move(descriptor)),
      options_(options),
      operations_max_(options.operations_max) {}

Session::~Session() = default;

// ---------------------------------------------------------------- what posting threads use

Status Session::admit(proto::Direction direction) {
  const State state = this->state();
  if (direction == proto::Direction::kSend && sending_ended_ && state != State::kIdle &&
      state != State::kConnecting) {
    return Status(EPIPE);
  }
  if (state != State::kConnected) return Status(ENOTCONN);
  auto& open = open_operations(direction);
  if (open.fetch_add(1) >= operations_max_) {
    open.fetch_sub(1);
    return Status(EAGAIN);
  }
  return Status();
}

void Session::withdraw(proto::Direction direction) {
  open_operations(direction).fetch_sub(1);
}

proto::Counters Session::counters() {
  proto::Counters counters;
  shard_->inspect([&] { counters = connection_ ? connection_->counters() : last_counters_; });
  return counters;
}

Session::Ended Session::ended() {
  Ended ended;
  shard_->inspect([&] { ended = ended_; });
  return ended;
}

proto::Agreement Session::agreement() {
  proto::Agreement agreement;
  shard_->inspect([&] { agreement = connection_ ? connection_->agreement() : last_agreement_; });
  return agreement;
}

// ---------------------------------------------------------------- the life of a connection

void Session::start(proto::Direction direction, const proto::Operation& operation) {
  if (!connection_) {  // ended between admit() and here
    completed(direction, operation,
              {.error = state() == State::kEnded ? ECONNRESET : ENOTCONN, .length_bytes = 0, .flags = 0});
  } else if (direction == proto::Direction::kSend) {
    connection_->post_send(operation);
  } else {
    connection_->post_receive(operation);
  }
}

void Session::connect(const sockaddr_storage& peer, socklen_t peer_bytes, ControlTarget target) {
  connect_target_ = std::move(target);
  state_ = State::kConnecting;
  token_ = shard_->attach(shared_from_this());
  const proto::Hello hello = proto::make_hello(options_.wishes);
  const ConnectParameters parameters{hello.view(), proto::link_depths(widest(options_.wishes))};
  auto link = shard_->port().connect(descriptor_->number(), reinterpret_cast<const sockaddr*>(&peer),
                                     peer_bytes, parameters, token_);
  if (!link) return end(link.error());
  link_ = std::move(*link);
  arm(options_.connect_limit_ns);
}

Status Session::accept(std::unique_ptr<ConnectionRequest> request, const proto::Agreement& agreement) {
  token_ = shard_->attach(shared_from_this());
  const proto::Hello hello = proto::make_hello(options_.wishes);
  const ConnectParameters parameters{hello.view(), proto::link_depths(agreement)};
  auto link = shard_->port().accept(std::move(request), descriptor_->number(), parameters, token_);
  if (!link) {
    end(link.error());
    return link.error();
  }
  link_ = std::move(*link);
  connection_ = std::make_unique<proto::Connection>(proto::Role::kResponder, agreement, *link_, *this);
  if (const Status status = connection_->start(); !status.ok()) {
    end(status);
    return status;
  }
  small_bytes_ = agreement.small_bytes;
  state_ = State::kConnected;
  arm(options_.connect_limit_ns);  // until the peer's first message
  return Status();
}

void Session::complete(const Completion& completion) {
  if (!link_) return;
  if (connection_) {
    if (completion.kind != CompletionKind::kEstablished) connection_->handle(completion);
    return;
  }
  if (completion.kind == CompletionKind::kEstablished) return established();
  if (completion.kind != CompletionKind::kDisconnected) return;
  Status why = completion.status.ok() ? Status(ECONNRESET) : completion.status;
  if (why == Status(ECONNREFUSED) && !link_->private_data().empty())
    why = proto::rejection_reason(link_->private_data());
  end(why);
}

void Session::established() {
  const auto agreement = proto::agree(options_.wishes, link_->private_data());
  if (!agreement) return end(agreement.error());
  connection_ = std::make_unique<proto::Connection>(proto::Role::kInitiator, *agreement, *link_, *this);
  if (const Status status = connection_->start(); !status.ok()) end(status);
}

// Connecting side: our first message is on its way. Accepting side: the peer's is here.
void Session::ready() {
  if (state() == State::kClosing) return;  // the deadline is that of the close
  deadline_ns_ = kNoDeadline;
  if (state() != State::kConnecting) return;
  small_bytes_ = connection_->agreement().small_bytes;
  state_ = State::kConnected;
  push_control(connect_target_, EXS_EVT_CONNECT, 0);
  connect_target_ = {};
}

void Session::shutdown(int how) {
  if (!connection_) return;
  if (how != SHUT_RD) connection_->shutdown_sending();
  if (how != SHUT_WR) connection_->shutdown_receiving();
}

void Session::close(std::uint64_t linger_ns, ControlTarget target) {
  close_targets_.push_back(std::move(target));
  if (state() == State::kEnded || !connection_) return end(Status(ECANCELED));
  if (state() == State::kClosing) return;
  state_ = State::kClosing;
  if (linger_ns == 0) return abort(Status(ECANCELED));
  arm(linger_ns);
  connection_->close();
}

void Session::abort(Status why) {
  if (connection_ && link_) {
    connection_->abort(why);
  } else {
    end(why);
  }
}

void Session::arm(std::uint64_t after_ns) {
  deadline_ns_ = monotonic_ns() + after_ns;
  shard_->arm_timer(deadline_ns_, weak_from_this());
}

void Session::timer_fired(std::uint64_t now_ns) {
  if (now_ns < deadline_ns_) return;
  deadline_ns_ = kNoDeadline;
  close_overdue_ = state() == State::kClosing;
  log(LogLevel::kWarn, "socket %d: %s took longer than its limit", descriptor_->number(),
      close_overdue_ ? "close" : "connection set-up");
  abort(Status(close_overdue_ ? ECANCELED : ETIMEDOUT));
}

// ---------------------------------------------------------------- proto::OutcomeSink

void Session::completed(proto::Direction direction, const proto::Operation& operation,
                        const proto::Outcome& outcome) {
  auto* queue = static_cast<EventQueue*>(operation.tag.queue);
  exs_event_t event{};
  event.exs_evt_type = direction == proto::Direction::kSend ? EXS_EVT_SEND : EXS_EVT_RECV;
  event.exs_evt_errno = outcome.error;
  event.exs_evt_socket = descriptor_->number();
  event.exs_evt_flags = event_flags(outcome.flags);
  event.exs_evt_ahandle = operation.tag.handle;
  event.exs_evt_union.exs_evt_xfer = {.exs_evt_buf = operation.memory.address,
                                      .exs_evt_bufsize = operation.memory.length_bytes,
                                      .exs_evt_length = outcome.length_bytes,
                                      .exs_evt_offset = 0,
                                      .exs_evt_mhandle = operation.tag.memory_handle,
                                      .exs_evt_rsvd = 0};
  ++(direction == proto::Direction::kSend ? ended_.sends : ended_.receives);
  if (outcome.error != 0) ++ended_.errors;
  // All is given back before the event can be seen: who dequeues it may post, deregister and delete.
  static_cast<Region*>(operation.tag.region)->release();
  withdraw(direction);
  queue->push(event, descriptor_);
}

void Session::closed() {
  end(Status());
}

void Session::failed(Status why) {
  end(why);
}

void Session::push_control(const ControlTarget& target, int type, int error) {
  exs_event_t event{};
  event.exs_evt_type = type;
  event.exs_evt_errno = error;
  event.exs_evt_socket = descriptor_->number();
  event.exs_evt_ahandle = target.handle;
  target.queue->push(event, descriptor_);
}

// The link and the protocol engine may be what called us: they die with the shard's batch, not here.
// A close is told last: it says that every other event is in its queue.
void Session::end(Status why) {
  if (state() != State::kEnded) {
    state_ = State::kEnded;
    sending_ended_ = true;
    deadline_ns_ = kNoDeadline;
    if (link_) link_->close();
    if (connection_) {
      last_counters_ = connection_->counters();
      last_agreement_ = connection_->agreement();
    }
    ::shutdown(descriptor_->number(), SHUT_RDWR);
    shard_->bury({std::move(link_), std::move(connection_)});
    shard_->detach(token_);
  }
  if (connect_target_.queue) push_control(connect_target_, EXS_EVT_CONNECT, why.error());
  connect_target_ = {};
  // Other errors have been told by the events of the operations they ended.
  const int error = close_overdue_ ? ETIMEDOUT : 0;
  for (const ControlTarget& target : close_targets_) push_control(target, EXS_EVT_CLOSE, error);
  close_targets_.clear();
}

}  // namespace exs
