// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/link_session.h"

#include <sys/socket.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/kernel.h"
#include "event/session/failure_text.h"
#include "event/session/outgoing_setup.h"
#include "src/log/log.h"
#include "src/proto/connection.h"

namespace exs {
namespace {

stats::ConnectionKind kind_of(proto::SocketKind kind) noexcept {
  switch (kind) {
    case proto::SocketKind::kStream: return stats::ConnectionKind::kStream;
    case proto::SocketKind::kTagged: return stats::ConnectionKind::kTagged;
    default: return stats::ConnectionKind::kMessages;
  }
}

// By iwarp, a connection costs most: why is there nothing faster? Shared memory is none with another host.
void tell_refused(StatsRecord::ConnectionWay& way, const Explanation& explanation) noexcept {
  if (way.carrier != "iwarp") return;
  for (const Finding& finding : explanation.findings()) {
    if (finding.verdict != Verdict::kRefused || finding.reason.code == ReasonCode::kOtherHost) continue;
    if (!way.refused.empty() && finding.provider != "shm") continue;
    way.refused = finding.provider;
    way.reason = static_cast<std::uint8_t>(finding.reason.code);
    way.fact = finding.reason.fact;
  }
}

}  // namespace

LinkSession::LinkSession(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                         const SessionOptions& options)
    : Session(std::move(shard), std::move(descriptor), options.operations_max, kind_of(options.wishes.kind)),
      nodelay_(options.nodelay),
      keepalive_(*this->shard(), [this](KeepAlive::Silence silence) { peer_is_silent(silence); }),
      burst_(*this->shard(), *this),
      options_(options),
      route_(this->shard()->providers(), options.choice) {
  set_label(options.label);
}

LinkSession::~LinkSession() = default;

proto::Agreement LinkSession::agreement() {
  proto::Agreement agreement;
  shard()->inspect([&] { agreement = connection_ ? connection_->agreement() : last_agreement_; });
  return agreement;
}

Explanation LinkSession::explanation() {
  Explanation found;
  shard()->inspect([&] { found = route_.explanation(); });
  return found;
}

const AddressPair* LinkSession::ends() const noexcept {
  const State now = state();
  return now == State::kIdle || now == State::kConnecting ? nullptr : ends_.get();
}

// ---------------------------------------------------------------- set-up

ConnectionSetup::Context LinkSession::setup_context() {
  return {.client = *this,
          .shard = *shard(),
          .socket = descriptor()->number(),
          .options = options_,
          .route = route_};
}

void LinkSession::connect(const sockaddr_storage& peer, socklen_t peer_bytes, ControlTarget target) {
  shard()->assert_held();
  connect_target_ = std::move(target);
  peer_ = compact(peer);
  set_state(State::kConnecting);
  contained([&] {
    const auto setup = std::make_shared<OutgoingSetup>(setup_context(), peer, peer_bytes);
    setup_ = setup;
    setup->start();
  });
}

void LinkSession::accept(AcceptableRequest acceptable, const Reason& why_no_device,
                         IncomingSetup::Accepted done) {
  shard()->assert_held();
  std::shared_ptr<IncomingSetup> setup;
  contained([&] {
    setup = std::make_shared<IncomingSetup>(setup_context(), std::move(acceptable), std::move(done));
  });
  if (!setup) return done(Status(ENOMEM));
  setup_ = setup;
  contained([&] { setup->start(why_no_device); });
}

std::uint64_t LinkSession::renew_token() {
  shard()->assert_held();
  if (token_ != 0) shard()->detach(token_);
  token_ = shard()->attach(std::static_pointer_cast<LinkSession>(shared_from_this()));
  return token_;
}

void LinkSession::connected(Carrier carrier, std::uint64_t deadline_ns) {
  arm(deadline_ns);
  [[maybe_unused]] const Status started = start_connection(proto::Role::kInitiator, std::move(carrier));
}

Status LinkSession::accepted(Carrier carrier) {
  Status status(ENOMEM);
  contained([&] {
    const Status started = start_accepted(std::move(carrier));  // by itself: contain.h tells why
    status = started;
  });
  return status;
}

Status LinkSession::start_accepted(Carrier carrier) {
  const std::size_t small_bytes = carrier.agreement.small_bytes;
  const Status status = start_connection(proto::Role::kResponder, std::move(carrier));
  if (!status.ok()) return status;
  learn_peer();
  set_small_bytes(small_bytes);
  set_connected();
  arm(shard()->clock().deadline_after(options_.connect_limit_ns));  // until the peer's first message
  set_keepalive(options_.keepalive_ns);
  if (state() != State::kConnected) return Status(ENOMEM);  // which has ended the session
  inherit_limit(proto::Direction::kSend, options_.send_limit);
  inherit_limit(proto::Direction::kReceive, options_.receive_limit);
  return Status();
}

// An error: the session has ended with it.
Status LinkSession::start_connection(proto::Role role, Carrier carrier) {
  setup_.reset();
  provider_ = shard()->providers().player(carrier.role);
  ends_ = std::move(carrier.ends);
  link_ = std::move(carrier.link);
  connection_ = std::make_unique<proto::Connection>(role, carrier.agreement, *link_, *this, counters_here(),
                                                    proto::Tuning{}, end_);
  if (!is_stream()) link_->show_messages_to(*this);
  if (!is_stream() && !is_tagged()) carry_short(connection_.get());
  combine_short(combines_posts());
  if (nodelay_) connection_->set_nodelay(true);
  const Status status = connection_->start();
  if (!status.ok()) end(status);
  return status;
}

// Done while the kernel knows the peer; it forgets it once the connection breaks.
void LinkSession::learn_peer() {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  if (ends_) {
    peer_ = compact(ends_->peers);
  } else if (kernel::getpeername(descriptor()->number(), as_sockaddr(peer), &length) == 0) {
    peer_ = compact(peer);
  }
}

void LinkSession::end_connect(Status why) {
  if (connect_target_.queue) {
    if (setup_) setup_->explain(why);
    push_control(connect_target_, EXS_EVT_CONNECT, why.error());
  }
  connect_target_ = {};
  setup_.reset();
}

// ---------------------------------------------------------------- the life of a connection

bool LinkSession::start(proto::Direction direction, const proto::Operation& operation) {
  using proto::PostState;
  shard()->assert_held();
  const bool in_stream = direction == proto::Direction::kSend && is_stream();
  int error = ENOMEM;
  PostState posted = PostState::kNoMemory;
  contained([&] {
    shard()->assert_held();
    if (in_stream && connection_) extend_burst();
    error = connection_ ? 0 : why_no_connection();
    if (!connection_) return;
    posted = post(direction, operation);
    if (posted == PostState::kNoMemory) error = ENOMEM;
    if (in_stream && connection_ && connection_->is_combining()) shard()->combining_pending();
  });
  if (error != 0) end_operation(direction, operation, {.error = error, .length_bytes = 0, .flags = 0});
  return posted == PostState::kWaiting;
}

bool LinkSession::start_read(const proto::Operation& operation) {
  shard()->assert_held();
  bool is_done = false;
  proto::Outcome outcome;
  contained([&] {  // a pooled receive owns the direction
    is_done = connection_ && !has_pooled() && connection_->read_now(operation, outcome);
  });
  if (is_done) end_at_once(operation, outcome);
  return is_done;
}

bool LinkSession::send_tagged_now(const proto::Operation& operation) {
  shard()->assert_held();
  bool is_done = false;
  contained([&] { is_done = connection_ && connection_->send_now(operation); });
  return is_done;
}

void LinkSession::post_tagged(const proto::Operation& operation) {
  shard()->assert_held();
  bool is_queued = false;
  contained([&] {
    if (!connection_) return;
    // Also if the step fails for want of memory: that ends the connection, and all that is queued.
    is_queued = true;
    is_queued = connection_->post_send(operation) != proto::PostState::kNoMemory;
  });
  if (!is_queued && end_ != nullptr)
    end_->completed(operation,
                    {.error = connection_ ? ENOMEM : why_no_connection(), .length_bytes = 0, .flags = 0});
}

// Only messages are combined here: a stream's connection itself combines where it pays.
bool LinkSession::combines_posts() const noexcept {
  return link_ != nullptr && !nodelay_ && !is_stream() && link_->gains_by_company();
}

// The session ended between admit() and start().
int LinkSession::why_no_connection() const {
  return state() == State::kEnded ? ECONNRESET : ENOTCONN;
}

proto::PostState LinkSession::post(proto::Direction direction, const proto::Operation& operation) {
  return direction == proto::Direction::kSend ? connection_->post_send(operation)
                                              : connection_->post_receive(operation);
}

void LinkSession::extend_burst() {
  // This may end the session.
  if (burst_.begins_with_next_send(connection_->is_combining())) connection_->end_burst();
  if (connection_) burst_.extend();
}

void LinkSession::burst_ended() {
  shard()->assert_held();
  burst_.ended();
  contained([&] {
    if (connection_) connection_->end_burst();
    after_step();
  });
}

void LinkSession::set_nodelay(bool nodelay) {
  shard()->assert_held();
  nodelay_ = nodelay;
  combine_short(combines_posts());
  contained([&] {
    if (connection_) connection_->set_nodelay(nodelay);
  });
}

void LinkSession::complete(const Completion& completion) {
  shard()->assert_held();
  contained([&] {
    if (const auto setup = setup_) {
      setup->complete(completion);
    } else {
      handle(completion);
    }
    allow_read_now(connection_ && connection_->may_read_now());
    after_step();
  });
}

bool LinkSession::take(const ArrivingMessage& message) {
  shard()->assert_held();
  bool is_taken = false;
  contained([&] {
    if (!connection_) return;
    if (end_ != nullptr) {
      is_taken = connection_->take(message);
    } else {
      const auto deliver = [this](const proto::Operation& receive, std::uint64_t payload_bytes) {
        end_short_receive(receive, payload_bytes);
      };
      is_taken = connection_->take_short(message, deliver) || connection_->take(message);
    }
    if (!is_taken) return;
    keepalive_.heard();
    const bool end_may_follow = end_ != nullptr && !(connection_ && connection_->is_quiet());
    if (has_more_to_report() || maps_ || end_may_follow) after_step();
  });
  return is_taken;
}

void LinkSession::handle(const Completion& completion) {
  const bool is_of_setup =
      completion.kind == CompletionKind::kEstablished || completion.kind == CompletionKind::kUpgradeReady;
  if (!connection_ || is_of_setup) return;
  if (completion.kind == CompletionKind::kReceive || completion.kind == CompletionKind::kRead)
    keepalive_.heard();
  connection_->handle(completion);
}

// Done once the kernel knows both addresses.
void LinkSession::tell_way() noexcept {
  StatsRecord::ConnectionWay way;
  way.carrier = carrier();
  if (ends_) {
    way.ours = ends_->ours;
    way.peers = ends_->peers;
  } else {
    socklen_t length = sizeof way.ours;
    kernel::getsockname(descriptor()->number(), as_sockaddr(way.ours), &length);
    way.peers = whole(peer_);
  }
  tell_refused(way, route_.explanation());
  set_way(way);
}

void LinkSession::set_connected() {
  tell_way();
  if (link_->sends_short() && !is_stream()) allow_send_short();
  set_state(State::kConnected);
}

// Connecting side: our first message is on its way. Accepting side: the peer's is here.
void LinkSession::ready() {
  if (state() == State::kClosing) return;  // the deadline is that of the close
  limit_.drop();
  if (state() != State::kConnecting) return;
  set_small_bytes(connection_->agreement().small_bytes);
  set_connected();
  set_keepalive(options_.keepalive_ns);
  if (state() != State::kConnected) return;  // no memory for it: the session has ended
  if (end_ != nullptr) return end_->connected();
  push_control(connect_target_, EXS_EVT_CONNECT, 0);
  connect_target_ = {};
}

// Handles what a step may have changed, except outcomes, which the connection reports itself.
void LinkSession::after_step() {
  if (connection_) {
    note_stall(connection_->stalled());
    if (has_shutdowns() && connection_->shutdown_announced()) tell_shutdowns(0);
  }
  if (maps_) answer_maps();
  if (peer_stopped_ && end_ != nullptr) tell_left();
  Session::after_step();
}

// A peer that closes receives no more, but still sends its remaining data.
void LinkSession::tell_left() {
  if (!connection_ || !connection_->readiness().peer_ended) return;
  peer_stopped_ = false;
  end_->left();
}

void LinkSession::map_window(const ControlTarget& target) {
  shard()->assert_held();
  if (!connection_) return push_control(target, EXS_EVT_MAP, why_no_connection());
  try {
    if (!maps_) maps_ = std::make_unique<WindowMaps>(descriptor());
  } catch (const std::bad_alloc&) {
    return push_control(target, EXS_EVT_MAP, ENOMEM);
  }
  names(*target.queue);
  maps_->add(target);
  contained([&] { after_step(); });
}

// A peer that takes no more data offers no more windows.
void LinkSession::answer_maps() {
  if (!maps_->are_waiting()) return;
  if (!connection_) return maps_->end_all(end_error());
  const Result<RemoteSlice> window = connection_->mappable_window();
  if (window || window.error() != Status(EAGAIN)) return maps_->answer(*link_, window);
  if (connection_->readiness().peer_stopped) maps_->end_all(EPIPE);
}

void LinkSession::shutdown(int how, ControlTarget target) {
  shard()->assert_held();
  add_shutdown(target);
  if (!connection_) return tell_shutdowns(ECONNRESET);
  contained([&] {
    if (how != SHUT_RD) connection_->shutdown_sending();
    if (connection_ && how != SHUT_WR) connection_->shutdown_receiving();
    after_step();
  });
}

// The connect ends with its session.
std::uint32_t LinkSession::cancel_control(const proto::Selection& selection) {
  std::uint32_t cancelled = Session::cancel_control(selection);
  if (maps_) cancelled += maps_->cancel(selection);
  if (connect_target_.queue && selection.names(connect_target_.handle)) {
    ++cancelled;
    abort(Status(ECANCELED));
  }
  return cancelled;
}

void LinkSession::set_keepalive(std::uint64_t period_ns) {
  shard()->assert_held();
  keepalive_.stop();
  if (period_ns == 0 || state() != State::kConnected) return;
  contained([&] { keepalive_.start(period_ns, shared_from_this()); });
}

void LinkSession::peer_is_silent(KeepAlive::Silence silence) {
  if (silence == KeepAlive::Silence::kOnePeriod) return connection_->probe();
  if (silence == KeepAlive::Silence::kNoMemory) return abort(Status(ENOMEM));
  abort(fault(LogLevel::kWarn, ETIMEDOUT, "socket {}: the peer {} has been silent for two keep-alive periods",
              descriptor()->number(), peer_name()));
}

void LinkSession::flush() {
  shard()->assert_held();
  contained([&] {
    if (connection_) connection_->flush();
  });
}

proto::Cancelled LinkSession::cancel_transfers(proto::Direction direction, const proto::Selection& selection,
                                               int error) {
  shard()->assert_held();
  return connection_ ? connection_->cancel(direction, selection, error) : proto::Cancelled{};
}

proto::Readiness LinkSession::readiness() const {
  shard()->assert_held();
  return connection_ ? connection_->readiness() : proto::Readiness{};
}

void LinkSession::close(std::uint64_t linger_ns, ControlTarget target) {
  shard()->assert_held();
  add_close(std::move(target));
  cancel_polls();
  if (maps_) maps_->end_all(ECANCELED);
  contained([&] { begin_close(linger_ns); });
}

void LinkSession::begin_close(std::uint64_t linger_ns) {
  shard()->assert_held();
  stop_pooled(ECANCELED);
  if (state() == State::kEnded || !connection_) return end(Status(ECANCELED));
  if (state() == State::kClosing) return;
  set_state(State::kClosing);
  keepalive_.stop();  // a close has its own limit
  if (linger_ns == 0) return abort(Status(ECANCELED));
  arm(shard()->clock().now_ns() + linger_ns);
  connection_->close();
}

void LinkSession::abort(Status why) {
  shard()->assert_held();
  if (connection_ && link_) {
    connection_->abort(why);
  } else {
    end(why);
  }
}

void LinkSession::limit_is_over() {
  close_overdue_ = state() == State::kClosing;
  if (close_overdue_) {
    log(LogLevel::kWarn, "socket {}: the close of the connection with {} took longer than EXS_SO_LINGER_MS",
        descriptor()->number(), peer_name());
    return abort(Status(ECANCELED));
  }
  abort(fault(LogLevel::kWarn, ETIMEDOUT,
              "socket {}: {} agreed on a connection, and its first message did not come in time",
              descriptor()->number(), peer_name()));
}

// ---------------------------------------------------------------- proto::OutcomeSink

void LinkSession::closed() {
  end(Status());
}

void LinkSession::failed(Status why) {
  end(why);
}

// The link or the connection may be the caller, so they are destroyed after the shard's batch, not here.
void LinkSession::give_up_link(Status why) {
  shard()->assert_held();
  if (setup_) setup_->stop(why);
  route_.drop_upgrade();
  if (link_) link_->close();
  note_stall(false);
  if (connection_) last_agreement_ = connection_->agreement();
  if (descriptor()->is_there()) kernel::shutdown(descriptor()->number(), SHUT_RDWR);
  carry_short(nullptr);
  shard()->destroy_later({std::move(link_), std::move(connection_)});
  burst_.leave();
  shard()->detach(token_);
}

// Without memory there is no text.
void LinkSession::keep_why(Status why) noexcept try {
  if (why.ok() || why == Status(ECANCELED)) return;
  keep_error_text(why.error(), setup_ ? setup_->what_failed(why) : text_of_end(peer_name(), why));
} catch (const std::bad_alloc&) {
}

void LinkSession::end(Status why) {
  if (state() != State::kEnded) {
    keep_why(why);
    note_end(why.error());
    set_state(State::kEnded);
    forbid_sending();
    limit_.drop();
    keepalive_.stop();
    give_up_link(why);
  }
  end_connect(why);
  tell_shutdowns(why.error());
  if (maps_) maps_->end_all(end_error());
  Session::after_step();  // notifies polls
  // The events of the ended operations have reported other errors.
  tell_closed(close_overdue_ ? ETIMEDOUT : 0);
  if (TaggedEnd* const left = std::exchange(end_, nullptr))
    left->ended(close_overdue_ ? Status(ETIMEDOUT) : why);
}

}  // namespace exs
