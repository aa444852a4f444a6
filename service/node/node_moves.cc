// Services that come and go: their names, their adopters, and where they went.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <new>

#include "base/check.h"
#include "base/contain.h"
#include "base/room.h"
#include "base/undo.h"
#include "service/node/node.h"

namespace exs::svc {
namespace {

// How long this node redirects senders to a moved service.
constexpr std::uint64_t kRedirectNs = 60'000 * kNsPerMs;
// An adopter's mailbox: one prepare, one commit, and requests that have been given up.
constexpr std::uint32_t kEndpointMailbox = 8;

}  // namespace

// ---------------------------------------------------------------- what the program asks for

Result<exs_svc*> Node::adopt_service(Service::Config config) {
  const LockGuard guard(lock_);
  config.node = this;
  config.node_lock = shared_lock_;
  Service::Config endpoint;
  endpoint.node = this;
  endpoint.key = adoption_key(config.key);
  endpoint.mailbox_max = endpoint.mailbox_each_max = kEndpointMailbox;
  endpoint.windows_max_bytes = endpoint.windows_each_max_bytes = config.windows_max_bytes;
  endpoint.node_lock = shared_lock_;
  endpoint.only_from = config.key.id();
  auto service = std::make_unique<exs_svc>(static_cast<ServiceHost&>(*this), std::move(config));
  exs_svc* const waiting = service.get();
  auto adopter = std::make_unique<Adopter>(static_cast<AdopterHost&>(*this), static_cast<ServiceHost&>(*this),
                                           *waiting, std::move(endpoint));
  adopters_.reserve(adopters_.size() + 1);
  departed_.emplace(waiting, std::move(service));
  const Status taken = contained_status([&]() EXS_REQUIRES(lock_) { return take_name(adopter->endpoint()); });
  if (!taken.ok()) {
    adopter.reset();
    departed_.erase(waiting);
    return failure(taken);
  }
  adopters_.push_back(std::move(adopter));
  return waiting;
}

Status Node::move_service(exs_svc* service, Move::Config config) {
  const LockGuard guard(lock_);
  check_fences();
  const bool is_here = !departed_.contains(service) && !service->is_frozen() && !service->is_suspended();
  if (!is_here || is_on_its_way(*service)) return Status(EALREADY);
  moves_.reserve(moves_.size() + 1);
  moves_.push_back(std::make_unique<Move>(static_cast<MoveHost&>(*this), static_cast<PeerHost&>(*this),
                                          *service, std::move(config)));
  try {
    moves_.back()->begin();
  } catch (const std::bad_alloc&) {
    moves_.back()->abandon();
    return Status(ENOMEM);
  }
  end_step();
  return {};
}

bool Node::is_on_its_way(const exs_svc& service) const {
  return std::any_of(moves_.begin(), moves_.end(),
                     [&service](const auto& move) { return move->is_of(service); });
}

// Called when the program closes the service.
void Node::end_moves_of(exs_svc* service) {
  for (const auto& move : moves_) {
    if (!move->is_of(*service)) continue;
    Move* const ending = move.get();
    ending->abandon();
    move_until([this, ending]() EXS_REQUIRES(lock_) {
      return std::none_of(moves_.begin(), moves_.end(),
                          [ending](const auto& one) { return one.get() == ending && one->is_moving(); });
    });
    break;
  }
  for (const auto& adopter : adopters_) {
    if (!adopter->is_of(*service)) continue;
    exs_svc& endpoint = adopter->endpoint();
    give_up_name(endpoint);
    move_until([&endpoint] {
      endpoint.stop_moving();
      return !endpoint.is_moving();
    });
    std::erase_if(adopters_, [service](const auto& one) { return one->is_of(*service); });
    break;
  }
}

void Node::go_on_with_moves() {
  for (const auto& move : moves_) move->go_on();
  for (const auto& adopter : adopters_) adopter->go_on();
}

void Node::remove_ended_moves() {
  // A service that stays may have been overtaken meanwhile.
  if (std::erase_if(moves_, [](const auto& move) { return move->is_over(); }) > 0) check_leases();
  std::erase_if(adopters_,
                [](const auto& adopter) { return adopter->is_done() && !adopter->endpoint().has_flows(); });
}

// ---------------------------------------------------------------- what moves ask for

exs_svc_peer* Node::open_peer_of(Move& move, Peer::Config config) {
  lock_.assert_held();
  auto peer = std::make_unique<exs_svc_peer>(static_cast<PeerHost&>(move), std::move(config));
  exs_svc_peer* const opened = peer.get();
  make_room(ended_, peers_.size() + 1);
  peers_.emplace(opened, std::move(peer));
  return opened;
}

std::vector<exs_svc_event_t> Node::take_events(const Service& service) {
  lock_.assert_held();
  const auto is_meant = [&service](const exs_svc_event_t& event) {
    return event.service == &service &&
           (event.type == EXS_SVC_EVT_MESSAGE || event.type == EXS_SVC_EVT_REQUEST);
  };
  std::vector<exs_svc_event_t> taken;
  taken.reserve(events_.size());
  std::copy_if(events_.begin(), events_.end(), std::back_inserter(taken), is_meant);
  std::erase_if(events_, is_meant);
  return taken;
}

void Node::give_back_events(const std::vector<exs_svc_event_t>& events) {
  for (const exs_svc_event_t& event : events) report(event);
}

void Node::has_moved(exs_svc& service, const std::vector<std::uint8_t>& record) {
  lock_.assert_held();
  const std::uint64_t now = boottime_ns();
  std::erase_if(redirects_, [now](const auto& entry) { return entry.second.until_ns <= now; });
  Redirect redirect{record, time_after(now, kRedirectNs)};
  redirects_[service.id()] = std::move(redirect);
  const auto here = services_.find(service.id());
  EXS_CHECK(here != services_.end() && here->second.get() == &service);
  departed_.emplace(&service, std::move(here->second));  // which it leaves there if it throws
  services_.erase(here);
}

Result<std::vector<std::uint8_t>> Node::take_over(exs_svc& service) {
  lock_.assert_held();
  if (services_.contains(service.id())) return failure(EADDRINUSE);
  if (const Status taken = take_name(service); !taken.ok()) return failure(taken);
  Undo give_up([&]() EXS_REQUIRES(lock_) { give_up_name(service); });
  std::vector<std::uint8_t> record = service.last_record();
  const auto waiting = departed_.find(&service);
  EXS_CHECK(waiting != departed_.end());
  services_.emplace(service.id(), std::move(waiting->second));  // which it leaves there if it throws
  give_up.cancel();
  departed_.erase(waiting);
  redirects_.erase(service.id());
  contain([&]() EXS_REQUIRES(lock_) { check_leases(); }, [&]() EXS_REQUIRES(lock_) { wake_soon(); });
  for (const auto& adopter : adopters_)
    if (adopter->is_of(service)) give_up_name(adopter->endpoint());
  return record;
}

// ---------------------------------------------------------------- names

Status Node::take_name_again(exs_svc& service) {
  lock_.assert_held();
  return take_name(service);
}

Status Node::take_name(exs_svc& service) {
  const std::shared_ptr<Hold> hold = service.begin_hold(boottime_ns());
  const Status claimed =
      names_->claim(service.id(), service.record(addresses_), config_.ways, &service.key(), {hold, sink_});
  service.has_name = claimed.ok();
  return claimed;
}

// A process that waits for the lease of a fenced service serves as soon as it has it.
void Node::give_up_name(exs_svc& service) {
  lock_.assert_held();
  const bool serves = service.has_name && !service.is_frozen() && !service.is_suspended();
  if (serves && service.hold().is_fenced()) service.suspend(boottime_ns());
  if (std::exchange(service.has_name, false)) names_->unclaim(service.id());
}

// Returns NULL if the service is not here.
exs_svc* Node::find_here(const IdBytes& id) {
  if (const auto service = services_.find(id); service != services_.end()) return service->second.get();
  // If several adopters wait, the one that waited last.
  const auto adopter = std::find_if(adopters_.rbegin(), adopters_.rend(),
                                    [&id](const auto& one) { return one->endpoint().id() == id; });
  return adopter == adopters_.rend() ? nullptr : &(*adopter)->endpoint();
}

void Node::redirect(Link& link, std::uint32_t alias, const IdBytes& id) {
  const auto redirected = redirects_.find(id);
  const bool is_known = redirected != redirects_.end() && boottime_ns() < redirected->second.until_ns;
  std::array<std::uint8_t, kFrameMax> room;
  link.send(is_known ? encode_flow_moved(room, alias, 0, redirected->second.record)
                     : encode_flow_no(room, alias, 0, Refusal::kNobody));
}

}  // namespace exs::svc
