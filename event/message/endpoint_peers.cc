// The peers of an endpoint: their arrival, their names, and the requests that end with them.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <utility>

#include "base/contain.h"
#include "event/message/endpoint.h"

namespace exs {

Status Endpoint::listen(std::shared_ptr<TaggedAcceptor> acceptor) {
  Status status;
  shard_->carry_out([&] {
    acceptor_ = std::move(acceptor);
    status = acceptor_->start([endpoint = weak_from_this()](AcceptableRequest request, const Reason& why) {
      if (const auto self = endpoint.lock()) self->accept(std::move(request), why);
    });
  });
  return status;
}

// EACCES: the peer does not belong to the job, or claims to be this process.
Result<std::uint32_t> Endpoint::number_of(const proto::TaggedAgreement& agreement) {
  auto number = options_.has_ranks ? Result<std::uint32_t>(agreement.peer_rank)
                                   : peers_.enter({.address = {}, .id = agreement.peer_id});
  if (number && (*number >= peers_.size() || *number == options_.number)) return failure(EACCES);
  return number;
}

void Endpoint::accept(AcceptableRequest request, const Reason& why_no_device) {
  Peer* from = nullptr;
  int error = 0;
  contain(
      [&] {
        const auto number = number_of(request.agreement.tagged);
        error = number ? 0 : number.error().error();
        if (number) from = &peer(*number);
      },
      [&] { error = ENOMEM; });
  if (error == 0 && is_leaving_ && from->is_over()) error = ECONNREFUSED;
  if (error != 0) return request.request->reject(proto::make_rejection(error).view());
  // Without memory the request ends with its connection, and the peer is as it was.
  contain([&] { from->take(std::move(request), why_no_device); }, [] {});
}

Peer& Endpoint::peer(std::uint32_t number) {
  if (Peer* const known = peers_.find(number); known != nullptr) return *known;
  failed_.reserve(made_peers_.size() + 1);  // a death needs no memory
  auto made = std::make_unique<Peer>(*this, number);
  made_peers_.reserve(made_peers_.size() + 1);
  peers_.set(number, *made);
  made_peers_.push_back(std::move(made));
  return *made_peers_.back();
}

Result<std::uint32_t> Endpoint::enter(const PeerName& name) {
  Result<std::uint32_t> number = 0;
  shard_->inspect([&] { number = peers_.enter(name); });
  return number;
}

PeerName Endpoint::name_of(std::uint32_t peer) {
  PeerName name;
  shard_->inspect([&] { name = peers_.name(peer); });
  return name;
}

const sockaddr_storage* Endpoint::address_of(std::uint32_t peer) const noexcept {
  const sockaddr_storage& address = peers_.name(peer).address;
  return address.ss_family == AF_UNSPEC ? nullptr : &address;
}

bool Endpoint::comes_before(std::uint32_t peer) const noexcept {
  if (options_.has_ranks) return options_.number < peer;
  return peers_.name(options_.number).id < peers_.name(peer).id;
}

SessionOptions Endpoint::session_options(std::uint32_t peer) const {
  SessionOptions options = options_.session;
  options.wishes.introduction.peer_rank = peer;
  options.wishes.introduction.peer_id = peers_.name(peer).id;
  options.label = label_;
  return options;
}

void Endpoint::set_label(std::string label) {
  shard_->inspect([&] {
    for (const auto& one : made_peers_) one->set_label(label);
    label_ = std::move(label);
  });
}

void Endpoint::peer_gone(Peer& peer, int error) {
  if (error == ECONNRESET) failed_.push_back(static_cast<int>(peer.rank()));
  requests_.visit(Request::State::kOpen, [&](Request& request) {
    if (request.kind != Request::Kind::kReceive || request.waiting == match::kNone) return;
    const bool is_any = request.peer == match::kAnySource && options_.has_ranks;
    if (request.peer != peer.rank() && !(is_any && error == ECONNRESET)) return;
    mailbox_.remove_receive(request);
    end(request, error);
  });
  ring_watchers();
}

void Endpoint::note_death(std::uint32_t rank) {
  if (rank != options_.number && rank < peers_.size()) peer(rank).note_death();
}

std::vector<int> Endpoint::acknowledge_failures() {
  std::vector<int> failed;
  shard_->inspect([&] {
    failed = failed_;
    failures_acknowledged_ = failed_.size();
  });
  return failed;
}

}  // namespace exs
