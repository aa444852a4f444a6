#include "event/session/acceptor.h"

#include <algorithm>
#include <cstring>

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

// Its choice leaves no provider, or it went meanwhile.
bool is_peers_own(Status why) {
  return why == Status(EOPNOTSUPP) || why == Status(ECONNRESET);
}

}  // namespace

// Carries a matched request to the shard where its connection is to live.
class Acceptor::HandOver final : public Task {
 public:
  HandOver(std::shared_ptr<Acceptor> acceptor, Accept accept, AcceptableRequest acceptable)
      : acceptor_(std::move(acceptor)), accept_(std::move(accept)), acceptable_(std::move(acceptable)) {}

  void run(Shard& shard) override {
    acceptor_->establish(
        shard, std::move(acceptable_),
        [acceptor = acceptor_, accept = accept_,
         home = shard.shared_from_this()](const Result<std::shared_ptr<Session>>& session) {
          auto unused = serve(*acceptor, accept, session);
          if (home == acceptor->shard_) return acceptor->handed_over(std::move(unused));
          acceptor->shard_->execute(std::make_unique<HandedOver>(acceptor, std::move(unused)));
        });
  }

 private:
  // Gives the accept back when only this peer could not be served.
  static std::optional<Accept> serve(Acceptor& acceptor, const Accept& accept,
                                     const Result<std::shared_ptr<Session>>& session) {
    if (!session && is_peers_own(session.error())) return accept;
    if (!session) {
      acceptor.finish(accept, session.error().error(), -1);
      return std::nullopt;
    }
    const int number = (*session)->descriptor()->number();
    if (accept.address != nullptr) fill_address(*accept.address, **session);
    acceptor.register_session_(*session);
    acceptor.finish(accept, 0, number);
    return std::nullopt;
  }

  // Back on the acceptor's shard: the event of this accept is in its queue, or the accept is still open.
  class HandedOver final : public Task {
   public:
    HandedOver(std::shared_ptr<Acceptor> acceptor, std::optional<Accept> unused)
        : acceptor_(std::move(acceptor)), unused_(std::move(unused)) {}
    void run(Shard&) override { acceptor_->handed_over(std::move(unused_)); }

   private:
    const std::shared_ptr<Acceptor> acceptor_;
    std::optional<Accept> unused_;
  };

  const std::shared_ptr<Acceptor> acceptor_;
  const Accept accept_;
  AcceptableRequest acceptable_;
};

Acceptor::Acceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                   Entrances entrances, const AcceptorOptions& options, RegisterSession register_session)
    : shard_(std::move(shard)),
      descriptor_(std::move(descriptor)),
      options_(options),
      register_session_(std::move(register_session)),
      entrances_(std::move(entrances)),
      polls_(descriptor_) {}

void Acceptor::post(Accept accept) {
  shard_->assert_held();
  if (closed_) return finish(accept, ECANCELED, -1);
  if (const Status status = listen_once(); !status.ok()) return finish(accept, status.error(), -1);
  accepts_.push_back(std::move(accept));
  match();
}

// One that fails shuts its entrance: its peers must not wait for nothing.
Status Acceptor::listen() {
  if (entrances_.network) {
    if (const Status status = listen_on_network(); !status.ok()) return status;
  }
  Status last(EOPNOTSUPP);
  std::erase_if(entrances_.own, [&](const Entrances::Own& own) {
    const Status status = listen_on(own);
    if (status.ok()) return false;
    log(LogLevel::kWarn, "socket %d: no listening by %s: %s", descriptor_->number(),
        shard_->providers().player(own.role)->name().data(), std::strerror(status.error()));
    if (own.role == Role::kDevice) {
      entrances_.why_no_device =
          Reason::make(ReasonCode::kFailed, "listening: %s", std::strerror(status.error()));
    }
    last = status;
    return true;
  });
  return sources_.empty() ? last : Status();
}

Status Acceptor::listen_on_network() {
  shard_->assert_held();
  token_ = shard_->attach(shared_from_this());
  auto listener = open_listener();
  if (!listener) {
    shard_->detach(token_);
    return listener.error();
  }
  sources_.push_back({std::move(*listener), token_, Role::kNetwork});
  return Status();
}

Status Acceptor::listen_on(const Entrances::Own& own) {
  shard_->assert_held();
  Port* const port = shard_->port(own.role);
  Connector* const connector = port != nullptr ? port->connector() : nullptr;
  if (connector == nullptr) return Status(ENODEV);
  const std::uint64_t token = shard_->attach(shared_from_this());
  auto listener = connector->listen(descriptor_->number(), listen_parameters(own.listening.get()), token);
  if (!listener) {
    shard_->detach(token);
    return listener.error();
  }
  sources_.push_back({std::move(*listener), token, own.role});
  return Status();
}

ListenParameters Acceptor::listen_parameters(ProcessListener* own) const {
  return {
      .backlog = options_.backlog, .handshake_limit_ns = options_.session.connect_limit_ns, .listening = own};
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
  // Not shared: it is the session that calls.
  session->accept(std::move(acceptable), entrances_.why_no_device,
                  [made = session.get(), done = std::move(done)](Status status) {
                    if (!status.ok()) return done(failure(status));
                    done(made->shared_from_this());
                  });
}

void Acceptor::handed_over(std::optional<Accept> unused) {
  --handing_over_;
  if (unused) post(std::move(*unused));
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
  for (std::size_t tries = 0; !held_.request && tries < sources_.size(); ++tries) {
    next_source_ = (next_source_ + 1) % sources_.size();
    held_.role = sources_[next_source_].role;
    held_.request = next_acceptable(*sources_[next_source_].listener, held_.agreement);
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
  while (!closed_ && !accepts_.empty()) {
    if (!hold_request()) break;
    Accept accept = accepts_.pop_front();
    const std::shared_ptr<Shard> destination = accept.target.queue->home();
    auto hand_over = std::make_unique<HandOver>(shared_from_this(), std::move(accept), std::move(held_));
    ++handing_over_;
    if (destination == shard_) {
      hand_over->run(*destination);
    } else {
      destination->execute(std::move(hand_over));
    }
  }
  matching_ = false;
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
    if (agreed.error() != Status(EPROTO)) {  // malformed: told by who read it
      log(LogLevel::kWarn, "socket %d: refused a peer whose hello does not fit: errno %d",
          descriptor_->number(), agreed.error().error());
    }
    request->reject(proto::make_rejection(agreed.error().error()).view());
  }
  return nullptr;
}

void Acceptor::finish(const Accept& accept, int error, int new_socket) {
  exs_event_t event = control_event(accept.target, *descriptor_, EXS_EVT_ACCEPT, error);
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
  if (!sources_.empty()) {
    for (Source& source : sources_) {
      source.listener.reset();
      shard_->detach(source.token);
    }
    sources_.clear();
    descriptor_->close_socket();
  }
  entrances_.own.clear();
  if (target.queue) close_targets_.push_back(target);
  finish_close();
}

// The close is told last: every other event is in its queue by then.
void Acceptor::finish_close() {
  if (handing_over_ > 0) return;
  for (const ControlTarget& target : close_targets_) {
    target.queue->push(control_event(target, *descriptor_, EXS_EVT_CLOSE, 0), descriptor_);
  }
  close_targets_.clear();
}

}  // namespace exs
