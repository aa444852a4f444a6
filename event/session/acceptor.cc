// SPDX-License-Identifier: BSD-2-Clause
#include "event/session/acceptor.h"

#include <algorithm>
#include <cstring>

#include "base/contain.h"
#include "base/kernel.h"
#include "base/socket_address.h"
#include "base/undo.h"
#include "event/session/failure_text.h"
#include "src/log/log.h"
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
  std::unique_ptr<Turn> turn_;  // made before this joins the line, so that waking it needs no memory
  bool waits_ = false;          // thread: the acceptor's shard
};

// Takes a request to the shard of the connection, and the result back, with all the memory that this needs.
class Acceptor::Handover final : public std::enable_shared_from_this<Handover> {
 public:
  Handover(std::shared_ptr<Acceptor> acceptor, const Accept& accept, AcceptableRequest acceptable)
      : acceptor_(std::move(acceptor)), accept_(accept), acceptable_(std::move(acceptable)) {}

  // Call it once, before begin().
  void prepare() {
    auto there = make_task([self = shared_from_this()](Shard& shard) { self->establish(shard); });
    back_ = make_task([self = shared_from_this()] { self->come_back(); });
    there_ = std::move(there);
  }
  void begin() {
    const std::shared_ptr<Shard> destination = accept_.target.queue->home();
    auto there = std::move(there_);
    if (destination == acceptor_->shard_) return there->run(*destination);
    destination->execute(std::move(there));
  }
  // Only the first result counts. Thread: the shard of the connection.
  void established(const Result<std::shared_ptr<Session>>& session) {
    if (!back_) return;
    auto back = std::move(back_);
    served_ = acceptor_->serve(accept_, session);
    if (on_home_shard_) return back->run(*acceptor_->shard_);
    acceptor_->shard_->execute(std::move(back));
  }

 private:
  void establish(Shard& shard) {
    on_home_shard_ = &shard == acceptor_->shard_.get();
    contain([&] { acceptor_->establish(shard, std::move(acceptable_), shared_from_this()); },
            [this] { established(failure(ENOMEM)); });
  }
  void come_back() { acceptor_->handed_over(accept_, served_); }

  const std::shared_ptr<Acceptor> acceptor_;
  const Accept accept_;
  AcceptableRequest acceptable_;
  std::unique_ptr<Task> there_;
  std::unique_ptr<Task> back_;  // null: the result is known
  bool on_home_shard_ = false;
  bool served_ = false;
};

Acceptor::Acceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                   ListeningPoints points, const AcceptorOptions& options, RegisterSession register_session)
    : shard_(std::move(shard)),
      descriptor_(std::move(descriptor)),
      options_(options),
      register_session_(std::move(register_session)),
      far_queues_(shard_),
      points_(std::move(points)),
      polls_(descriptor_) {
  close_targets_.reserve(1);
}

void Acceptor::post(const Accept& accept) {
  shard_->assert_held();
  far_queues_.name(*accept.target.queue);
  const Status status = contained_status([&] { return take_in(accept); });
  if (!status.ok()) return finish(accept, status.error(), -1);
  match();
}

Status Acceptor::take_in(const Accept& accept) {
  if (closed_) return Status(ECANCELED);
  if (const Status status = listen_once(); !status.ok()) return status;
  accepts_.push_back(accept);
  return Status();
}

void Acceptor::post_multishot(const ControlTarget& target) {
  std::shared_ptr<SlotWaiter> waiter;
  contain([&] { waiter = std::make_shared<SlotWaiter>(shared_from_this(), target.queue); }, [] {});
  if (!waiter) return finish({target}, ENOMEM, -1);
  post({target, nullptr, std::move(waiter)});
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
  listeners_.reserve(listeners_.size() + 1);
  token_ = shard_->attach(shared_from_this());
  Undo detach([this] {
    shard_->assert_held();
    shard_->detach(token_);
  });
  auto listener = open_listener();
  if (!listener) return listener.error();
  detach.cancel();
  listeners_.push_back({std::move(*listener), token_, Role::kNetwork});
  return Status();
}

Status Acceptor::listen_on(const ListeningPoints::OfProvider& point) {
  shard_->assert_held();
  Port* const port = shard_->port(point.role);
  Connector* const connector = port != nullptr ? port->connector() : nullptr;
  if (connector == nullptr) return Status(ENODEV);
  listeners_.reserve(listeners_.size() + 1);
  const std::uint64_t token = shard_->attach(shared_from_this());
  Undo detach([&] {
    shard_->assert_held();
    shard_->detach(token);
  });
  auto listener = connector->listen(descriptor_->number(), listen_parameters(point.listening.get()), token);
  if (!listener) return listener.error();
  detach.cancel();
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

void Acceptor::establish(Shard& shard, AcceptableRequest acceptable,
                         const std::shared_ptr<Handover>& handover) {
  auto descriptor = KernelDescriptor::own(UniqueFd(acceptable.request->release_descriptor()));
  auto session =
      std::make_shared<LinkSession>(shard.shared_from_this(), std::move(descriptor), options_.session);
  // A plain pointer: the session is the caller.
  session->accept(std::move(acceptable), points_.why_no_device,
                  [made = session.get(), handover](Status status) {
                    if (!status.ok()) return established(*handover, failure(status));
                    established(*handover, made->shared_from_this());
                  });
}

void Acceptor::established(Handover& handover, const Result<std::shared_ptr<Session>>& session) {
  handover.established(session);
}

void Acceptor::hand_over(const Accept& accept, AcceptableRequest acceptable) {
  const auto handover = std::make_shared<Handover>(shared_from_this(), accept, std::move(acceptable));
  handover->prepare();
  ++handing_over_;
  handover->begin();
}

// Runs on the shard of the connection. False: only this peer could not be served, and the accept is still open.
bool Acceptor::serve(const Accept& accept, const Result<std::shared_ptr<Session>>& session) {
  if (!session && is_peers_own(session.error())) return false;
  if (!session) {
    finish(accept, session.error().error(), -1);
    return true;
  }
  const int number = (*session)->descriptor()->number();
  if (accept.address != nullptr) fill_address(*accept.address, **session);
  bool registered = true;
  contain([&] { register_session_(*session); }, [&] { registered = false; });
  if (!registered) {
    (*session)->abort(Status(ENOMEM));
    if ((*session)->descriptor()->adopted()) (*session)->descriptor()->take_over();  // this is the only user
  }
  finish(accept, registered ? 0 : ENOMEM, registered ? number : -1);
  return true;
}

// Runs on the acceptor's shard.
void Acceptor::handed_over(const Accept& accept, bool served) {
  --handing_over_;
  if (!served && accept.more) accept.target.queue->cancel_reservation();
  if (!served && !accept.more) post(accept);
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

void Acceptor::poll(const ControlTarget& target, std::uint32_t events) {
  shard_->assert_held();
  far_queues_.name(*target.queue);
  polls_.add(target, events);
  if (closed_) return polls_.cancel_all();
  bool listens = false;
  contain([&] { listens = listen_once().ok(); }, [] {});
  if (!listens) return polls_.answer(EXS_POLLERR);
  answer_polls();
}

// Without memory to look, the poll reports a peer; the accept will find out.
void Acceptor::answer_polls() {
  if (!polls_.asks_for(EXS_POLLIN)) return;
  bool waits = true;
  contain([&] { waits = has_request(); }, [] {});
  if (waits) polls_.answer(EXS_POLLIN);
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
  bool more = true;
  while (more) contain([&] { more = match_once(); }, [this] { fail_first_accept(ENOMEM); });
  matching_ = false;
}

// False: there is nothing to match.
bool Acceptor::match_once() {
  if (closed_ || accepts_.empty() || !hold_request()) return false;
  auto accept = next_accept();
  if (!accept) return false;
  AcceptableRequest request = std::move(held_);
  contain([&] { hand_over(*accept, std::move(request)); }, [&] { finish(*accept, ENOMEM, -1); });
  return true;
}

// Multishot accepts take turns, so that several queues share the connections. None: they are the only ones, and
// their queues are full.
std::optional<Acceptor::Accept> Acceptor::next_accept() {
  for (std::size_t left = accepts_.count(); left > 0; --left) {
    Accept accept = accepts_.pop_front();
    if (!accept.waiter) return accept;
    accepts_.push_back(accept);  // where it was just taken from, so without memory
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
    // A malformed one was logged where it was read, and so was another size of the job.
    if (agreed.error() != Status(EPROTO) && agreed.error().error() != ERANGE) {
      tell_refused(name_of_peer(request->descriptor()), agreed.error());
    }
    request->reject(proto::make_rejection(agreed.error(), options_.session.wishes,
                                          said.first(std::min(said.size(), wire::kPathsOffset)))
                        .view());
  }
  return nullptr;
}

void Acceptor::tell_refused(const std::string& peer, Status why) const {
  const proto::SocketKind kind = options_.session.wishes.kind;
  if (why == Status(EPROTOTYPE)) {
    log(LogLevel::kWarn, "socket {} refused {}: that is a {} socket, and this one listens for {}: EPROTOTYPE",
        descriptor_->number(), peer, name_of_other(kind), name_of(kind));
  } else if (why == Status(EACCES)) {
    log(LogLevel::kWarn,
        "socket {} refused {}: it is of another job, or meant another rank of this one: EACCES",
        descriptor_->number(), peer);
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
  while (!accepts_.empty()) fail_first_accept(error);
}

void Acceptor::fail_first_accept(int error) {
  if (!accepts_.empty()) finish(accepts_.pop_front(), error, -1);
}

void Acceptor::close(const ControlTarget& target) {
  shard_->assert_held();
  if (target.queue) far_queues_.name(*target.queue);
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
    descriptor_->stop_listening();
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
