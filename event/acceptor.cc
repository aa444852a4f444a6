#include "event/acceptor.h"

#include <algorithm>
#include <cstring>

#include "src/base/log.h"

namespace exs {
namespace {

void fill_address(exs_acceptaddr_t& into, int descriptor) {
  sockaddr_storage peer{};
  socklen_t peer_bytes = sizeof peer;
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) != 0) peer_bytes = 0;
  if (into.addr != nullptr) std::memcpy(into.addr, &peer, std::min(into.addrlen, peer_bytes));
  into.addrlen = peer_bytes;
}

}  // namespace

// Carries a matched request to the shard where its connection is to live.
class Acceptor::HandOver final : public Task {
 public:
  HandOver(std::shared_ptr<Acceptor> acceptor, Accept accept, std::unique_ptr<ConnectionRequest> request,
           const proto::Agreement& agreement)
      : acceptor_(std::move(acceptor)),
        accept_(std::move(accept)),
        request_(std::move(request)),
        agreement_(agreement) {}

  void run(Shard& shard) override {
    auto descriptor = std::make_shared<KernelDescriptor>(UniqueFd(request_->release_descriptor()));
    auto session =
        std::make_shared<LinkSession>(shard.shared_from_this(), descriptor, acceptor_->options_.session);
    if (accept_.address != nullptr) fill_address(*accept_.address, descriptor->number());
    const Status status = session->accept(std::move(request_), agreement_);
    if (status.ok()) acceptor_->register_session_(session);
    acceptor_->finish(accept_, status.error(), status.ok() ? descriptor->number() : -1);
    if (&shard != acceptor_->shard_.get())
      acceptor_->shard_->execute(std::make_unique<HandedOver>(acceptor_));
  }

 private:
  // Back on the acceptor's shard: the event of this accept is in its queue.
  class HandedOver final : public Task {
   public:
    explicit HandedOver(std::shared_ptr<Acceptor> acceptor) : acceptor_(std::move(acceptor)) {}
    void run(Shard&) override {
      --acceptor_->handing_over_;
      acceptor_->finish_close();
    }

   private:
    const std::shared_ptr<Acceptor> acceptor_;
  };

  const std::shared_ptr<Acceptor> acceptor_;
  const Accept accept_;
  std::unique_ptr<ConnectionRequest> request_;
  const proto::Agreement agreement_;
};

Acceptor::Acceptor(std::shared_ptr<Shard> shard, std::shared_ptr<KernelDescriptor> descriptor,
                   const AcceptorOptions& options, RegisterSession register_session)
    : shard_(std::move(shard)),
      descriptor_(std::move(descriptor)),
      options_(options),
      register_session_(std::move(register_session)) {}

void Acceptor::post(Accept accept) {
  if (closed_) return finish(accept, ECANCELED, -1);
  if (!listener_) {
    if (const Status status = listen(); !status.ok()) return finish(accept, status.error(), -1);
  }
  accepts_.push_back(std::move(accept));
  match();
}

Status Acceptor::listen() {
  token_ = shard_->attach(shared_from_this());
  auto listener = shard_->port().listen(
      descriptor_->number(),
      {.backlog = options_.backlog, .handshake_limit_ns = options_.session.connect_limit_ns}, token_);
  if (!listener) {
    shard_->detach(token_);
    return listener.error();
  }
  listener_ = std::move(*listener);
  return Status();
}

void Acceptor::complete(const Completion& completion) {
  if (completion.kind == CompletionKind::kRequest) match();
}

void Acceptor::match() {
  while (!closed_ && !accepts_.empty()) {
    proto::Agreement agreement;
    auto request = next_acceptable(agreement);
    if (!request) return;
    Accept accept = accepts_.pop_front();
    const std::shared_ptr<Shard> destination = accept.target.queue->home();
    auto hand_over =
        std::make_unique<HandOver>(shared_from_this(), std::move(accept), std::move(request), agreement);
    if (destination == shard_) {
      hand_over->run(*destination);
    } else {
      ++handing_over_;
      destination->execute(std::move(hand_over));
    }
  }
}

std::unique_ptr<ConnectionRequest> Acceptor::next_acceptable(proto::Agreement& agreement) {
  while (auto request = listener_->next_request()) {
    if (request->peer_is_gone()) continue;
    const auto agreed = proto::agree(options_.session.wishes, request->private_data());
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
  exs_event_t event{};
  event.exs_evt_type = EXS_EVT_ACCEPT;
  event.exs_evt_errno = error;
  event.exs_evt_socket = descriptor_->number();
  event.exs_evt_ahandle = accept.target.handle;
  event.exs_evt_union.exs_evt_accept = {
      .exs_evt_addr = accept.address, .exs_evt_newsocket = new_socket, .exs_evt_rsvd = 0};
  accept.target.queue->push(event, descriptor_);
}

void Acceptor::close(const ControlTarget& target) {
  closed_ = true;
  while (!accepts_.empty()) finish(accepts_.pop_front(), ECANCELED, -1);
  if (listener_) {
    listener_.reset();
    shard_->detach(token_);
  }
  if (target.queue) close_targets_.push_back(target);
  finish_close();
}

// The close is told last: every other event is in its queue by then.
void Acceptor::finish_close() {
  if (handing_over_ > 0) return;
  for (const ControlTarget& target : close_targets_) {
    exs_event_t event{};
    event.exs_evt_type = EXS_EVT_CLOSE;
    event.exs_evt_socket = descriptor_->number();
    event.exs_evt_ahandle = target.handle;
    target.queue->push(event, descriptor_);
  }
  close_targets_.clear();
}

}  // namespace exs
