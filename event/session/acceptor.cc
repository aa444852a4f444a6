#include "event/session/acceptor.h"

#include <algorithm>
#include <cstring>

#include "event/session/failure_text.h"
#include "src/base/kernel.h"
#include "src/base/log.h"
#include "src/base/socket_address.h"
#include "src/wire/paths.h"

namespace exs {
namespace {

void fill_address(exs_acceptaddr_t& into, const Session& session) {
  sockaddr_storage peer{};
  socklen_t peer_bytes = sizeof peer;
  if (const auto* const ends = session.ends()) {
    peer = ends->peers;
    peer_bytes = address_bytes(*as_sockaddr(peer));
  } else if (kernel::getpeername(session.descriptor()->number(), as_sockaddr(peer), &peer_bytes) != 0) {
    peer_bytes = 0;
  }
  if (into.addr != nullptr) std::memcpy(into.addr, &peer, std::min(into.addrlen, peer_bytes));
  into.addrlen = peer_bytes;
}

// The peer's choice leaves no provider, or the peer has gone.
bool is_peers_own(Status why) {
  return why == Status(EOPNOTSUPP) || why == Status(ECONNRESET);
}

}  // namespace

// A multishot accept in the line for a slot of its queue.
class Acceptor::SlotWaiter final : public WaitLine::Waiter, public std::enable_shared_from_this<SlotWaiter> {
 public:
  SlotWaiter(const std::shared_ptr<Acceptor>& acceptor, std::shared_ptr<EventQueue> queue)
      : acceptor_(acceptor), queue_(std::move(queue)) {}

  // Thread: the acceptor's shard. False: no slot is free, and step() follows when one is.
  [[nodiscard]] bool reserve() {
    if (waits_) return false;
    if (!turn_) turn_ = std::make_unique<Turn>();
    waits_ = !queue_->reserve_or_wait(shared_from_this());
    return !waits_;
  }

  void try_again() override {
    auto acceptor = acceptor_.lock();
    if (!acceptor) return queue_->pass_on();
    const auto shard = acceptor->shard();
    turn_->waiter = shared_from_this();
    turn_->acceptor = std::move(acceptor);
    shard->execute(std::move(turn_));
  }

 private:
  struct Turn final : public Task {
    void run(Shard&) override {
      waiter->waits_ = false;
      acceptor->step();
      waiter->queue_->pass_on();
    }
    std::shared_ptr<SlotWaiter> waiter;
    std::shared_ptr<Acceptor> acceptor;
  };

  const std::weak_ptr<Acceptor> acceptor_;
  const std::shared_ptr<EventQueue> queue_;
  std::unique_ptr<Turn> turn_;  // made before this joins the line, so that whoever wakes it needs no memory
  bool waits_ = false;          // thread: the acceptor's shard
};

Acceptor::Acceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                   ListeningPoints points, const AcceptorOptions& options, RegisterSession register_session)
    : shard_(std::move(shard)),
      descriptor_(std::move(descriptor)),
      options_(options),
      register_session_(std::move(register_session)),
      points_(std::move(points)),
      polls_(descriptor_) {}

void Acceptor::post(Accept accept) {
  shard_->assert_held();
  if (closed_) return finish(accept, ECANCELED, -1);
  if (const Status status = listen_once(); !status.ok()) return finish(accept, status.error(), -1);
  accepts_.push_back(std::move(accept));
  match();
}

void Acceptor::post_multishot(ControlTarget target) {
  auto waiter = std::make_shared<SlotWaiter>(shared_from_this(), target.queue);
  post({std::move(target), nullptr, std::move(waiter)});
}

// A provider that cannot listen is dropped, so that its peers do not wait in vain.
Status Acceptor::listen() {
  if (points_.network) {
    if (const Status status = listen_on_network(); !status.ok()) return status;
  }
  Status last(EOPNOTSUPP);
  std::erase_if(points_.by_provider, [&](const ListeningPoints::OfProvider& point) {
    const Status status = listen_on(point);
    if (status.ok()) return false;
    log(LogLevel::kWarn, "socket {}: no listening by {}: {}", descriptor_->number(),
        shard_->providers().player(point.role)->name(), std::strerror(status.error()));
    if (point.role == Role::kDevice) {
      points_.why_no_device =
          Reason::make(ReasonCode::kFailed, "listening: %s", std::strerror(status.error()));
    }
    last = status;
    return true;
  });
  return listeners_.empty() ? last : Status();
}

Status Acceptor::listen_on_network() {
  shard_->assert_held();
  token_ = shard_->attach(shared_from_this());
  auto listener = open_listener();
  if (!listener) {
    shard_->detach(token_);
    return listener.error();
  }
  listeners_.push_back({std::move(*listener), token_, Role::kNetwork});
  return Status();
}

Status Acceptor::listen_on(const ListeningPoints::OfProvider& point) {
  shard_->assert_held();
  Port* const port = shard_->port(point.role);
  Connector* const connector = port != nullptr ? port->connector() : nullptr;
  if (connector == nullptr) return Status(ENODEV);
  const std::uint64_t token = shard_->attach(shared_from_this());
  auto listener = connector->listen(descriptor_->number(), listen_parameters(point.listening.get()), token);
  if (!listener) {
    shard_->detach(token);
    return listener.error();
  }
  listeners_.push_back({std::move(*listener), token, point.role});
  return Status();
}

ListenParameters Acceptor::listen_parameters(ProcessListener* listening) const {
  return {.backlog = options_.backlog,
          .handshake_limit_ns = options_.session.connect_limit_ns,
          .listening = listening};
}

Result<std::unique_ptr<PortListener>> Acceptor::open_listener() {
  shard_->assert_held();
  Port* const port = shard_->port(Role::kNetwork);
  Connector* const connector = port != nullptr ? port->connector() : nullptr;
  if (connector == nullptr) return failure(EOPNOTSUPP);
  return connector->listen(descriptor_->number(), listen_parameters(nullptr), token_);
}

void Acceptor::establish(Shard& shard, AcceptableRequest acceptable, Established done) {
  auto descriptor = std::make_shared<KernelDescriptor>(UniqueFd(acceptable.request->release_descriptor()));
  auto session =
      std::make_shared<LinkSession>(shard.shared_from_this(), std::move(descriptor), options_.session);
  // A plain pointer: the session is the caller.
  session->accept(std::move(acceptable), points_.why_no_device,
                  [made = session.get(), done = std::move(done)](Status status) {
                    if (!status.ok()) return done(failure(status));
                    done(made->shared_from_this());
                  });
}

// Takes the request to the shard of the connection, and the result back.
void Acceptor::hand_over(Accept accept, AcceptableRequest acceptable) {
  const std::shared_ptr<Shard> destination = accept.target.queue->home();
  ++handing_over_;
  auto establish_there = [self = shared_from_this(), accept = std::move(accept),
                          acceptable = std::move(acceptable)](Shard& shard) mutable {
    auto established = [self, accept,
                        home = shard.shared_from_this()](const Result<std::shared_ptr<Session>>& session) {
      auto unused = self->serve(accept, session);
      if (home == self->shard_) return self->handed_over(std::move(unused));
      self->shard_->execute(
          make_task([self, unused = std::move(unused)]() mutable { self->handed_over(std::move(unused)); }));
    };
    self->establish(shard, std::move(acceptable), std::move(established));
  };
  if (destination == shard_) return establish_there(*destination);
  destination->execute(make_task(std::move(establish_there)));
}

// Runs on the shard of the connection. Returns the accept if only this peer could not be served.
std::optional<Acceptor::Accept> Acceptor::serve(const Accept& accept,
                                                const Result<std::shared_ptr<Session>>& session) {
  if (!session && is_peers_own(session.error())) return accept;
  if (!session) {
    finish(accept, session.error().error(), -1);
    return std::nullopt;
  }
  const int number = (*session)->descriptor()->number();
  if (accept.address != nullptr) fill_address(*accept.address, **session);
  register_session_(*session);
  finish(accept, 0, number);
  return std::nullopt;
}

// Runs on the acceptor's shard. The event of the accept is in its queue, or the accept is still open
// (`unused`).
void Acceptor::handed_over(std::optional<Accept> unused) {
  --handing_over_;
  if (unused && unused->more) unused->target.queue->cancel_reservation();
  if (unused && !unused->more) post(std::move(*unused));
  finish_close();
}

void Acceptor::complete(const Completion& completion) {
  shard_->assert_held();
  if (completion.kind == CompletionKind::kRequest) step();
}

void Acceptor::step() {
  match();
  answer_polls();
}

void Acceptor::poll(ControlTarget target, std::uint32_t events) {
  shard_->assert_held();
  polls_.add(std::move(target), events);
  if (closed_) return polls_.cancel_all();
  if (!listen_once().ok()) return polls_.answer(EXS_POLLERR);
  answer_polls();
}

void Acceptor::answer_polls() {
  if (polls_.asks_for(EXS_POLLIN) && has_request()) polls_.answer(EXS_POLLIN);
}

bool Acceptor::hold_request() {
  if (held_.request && !held_.request->peer_is_gone()) return true;
  held_.request.reset();
  for (std::size_t tries = 0; !held_.request && tries < listeners_.size(); ++tries) {
    next_listener_ = (next_listener_ + 1) % listeners_.size();
    held_.role = listeners_[next_listener_].role;
    held_.request = next_acceptable(*listeners_[next_listener_].listener, held_.agreement);
  }
  return held_.request != nullptr;
}

std::uint32_t Acceptor::cancel(const proto::Selection& selection) {
  shard_->assert_held();
  std::uint32_t cancelled = polls_.cancel(selection);
  for (std::size_t left = accepts_.count(); left > 0; --left) {
    Accept accept = accepts_.pop_front();
    if (selection.names(accept.target.handle)) {
      ++cancelled;
      finish(accept, ECANCELED, -1);
    } else {
      accepts_.push_back(std::move(accept));
    }
  }
  return cancelled;
}

void Acceptor::match() {
  if (matching_) return;
  matching_ = true;
  while (!closed_ && !accepts_.empty() && hold_request()) {
    auto accept = next_accept();
    if (!accept) break;
    hand_over(std::move(*accept), std::move(held_));
  }
  matching_ = false;
}

// Multishot accepts take turns, so that several queues share the connections. None: they are the only ones, and
// their queues are full.
std::optional<Acceptor::Accept> Acceptor::next_accept() {
  for (std::size_t left = accepts_.count(); left > 0; --left) {
    Accept accept = accepts_.pop_front();
    if (!accept.waiter) return accept;
    accepts_.push_back(accept);
    accept.more = accept.waiter->reserve();
    if (accept.more) return accept;
  }
  return std::nullopt;
}

std::unique_ptr<ConnectionRequest> Acceptor::next_acceptable(PortListener& listener,
                                                             proto::Agreement& agreement) {
  while (auto request = listener.next_request()) {
    if (request->peer_is_gone()) continue;
    const auto said = request->private_data();
    const auto agreed =
        proto::agree(options_.session.wishes, said.first(std::min(said.size(), wire::kPathsOffset)));
    if (agreed) {
      agreement = *agreed;
      return request;
    }
    if (agreed.error() != Status(EPROTO)) {  // malformed: logged where it was read
      tell_refused(name_of_peer(request->descriptor()), agreed.error());
    }
    request->reject(proto::make_rejection(agreed.error().error()).view());
  }
  return nullptr;
}

void Acceptor::tell_refused(const std::string& peer, Status why) const {
  const proto::SocketKind kind = options_.session.wishes.kind;
  if (why == Status(EPROTOTYPE)) {
    log(LogLevel::kWarn, "socket {} refused {}: that is a {} socket, and this one listens for {}: EPROTOTYPE",
        descriptor_->number(), peer, name_of_other(kind), name_of(kind));
  } else {
    log(LogLevel::kWarn,
        "socket {} refused {}: it speaks no version of the protocol that this release has: {}",
        descriptor_->number(), peer, std::strerror(why.error()));
  }
}

void Acceptor::finish(const Accept& accept, int error, int new_socket) {
  exs_event_t event = control_event(accept.target, *descriptor_, EXS_EVT_ACCEPT, error);
  if (accept.more) event.exs_evt_flags = EXS_EVF_MORE;
  event.exs_evt_union.exs_evt_accept = {
      .exs_evt_addr = accept.address, .exs_evt_newsocket = new_socket, .exs_evt_rsvd = 0};
  accept.target.queue->push(event, descriptor_);
}

void Acceptor::fail_accepts(int error) {
  while (!accepts_.empty()) finish(accepts_.pop_front(), error, -1);
}

void Acceptor::close(const ControlTarget& target) {
  shard_->assert_held();
  closed_ = true;
  fail_accepts(ECANCELED);
  polls_.cancel_all();
  held_.request.reset();
  if (!listeners_.empty()) {
    for (AttachedListener& attached : listeners_) {
      attached.listener.reset();
      shard_->detach(attached.token);
    }
    listeners_.clear();
    descriptor_->close_socket();
  }
  points_.by_provider.clear();
  if (target.queue) close_targets_.push_back(target);
  finish_close();
}

// The event of the close comes last: every other event is in its queue by then.
void Acceptor::finish_close() {
  if (handing_over_ > 0) return;
  for (const ControlTarget& target : close_targets_) {
    target.queue->push(control_event(target, *descriptor_, EXS_EVT_CLOSE, 0), descriptor_);
  }
  close_targets_.clear();
}

}  // namespace exs
