// Services that come and go: their names, their heirs, and where they went.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "service/node/node.h"

namespace exs::svc {
namespace {

// How long this node redirects senders to a moved service.
constexpr std::int64_t kDepartureNs = 60'000 * kNsPerMs;
// An heir's mailbox: one prepare, one commit, and requests that have been given up.
constexpr std::uint32_t kDoorMailbox = 8;

}  // namespace

// ---------------------------------------------------------------- what the program asks for

exs_svc* Node::adopt_service(Service::Config config) {
  const std::lock_guard guard(*lock_);
  config.node = this;
  config.node_lock = lock_;
  Service::Config door;
  door.node = this;
  door.key = heir_key(config.key);
  door.mailbox_max = door.mailbox_each_max = kDoorMailbox;
  door.windows_max_bytes = door.windows_each_max_bytes = config.windows_max_bytes;
  door.node_lock = lock_;
  door.only_from = config.key.id();
  auto service = std::make_unique<exs_svc>(static_cast<ServiceHost&>(*this), std::move(config));
  exs_svc* const waiting = service.get();
  auto heir = std::make_unique<Heir>(static_cast<HeirHost&>(*this), static_cast<ServiceHost&>(*this),
                                     *waiting, std::move(door));
  heirs_.reserve(heirs_.size() + 1);
  elsewhere_.emplace(waiting, std::move(service));
  if (const int error = take_name(heir->door()); error != 0) {
    elsewhere_.erase(waiting);
    errno = error;
    return nullptr;
  }
  heirs_.push_back(std::move(heir));
  return waiting;
}

int Node::move_service(exs_svc* service, Move::Config config) {
  const std::lock_guard guard(*lock_);
  look_at_fences();
  const bool is_here = !elsewhere_.contains(service) && !service->is_frozen() && !service->is_suspended();
  if (!is_here || is_on_its_way(*service)) return EALREADY;
  moves_.reserve(moves_.size() + 1);
  moves_.push_back(std::make_unique<Move>(static_cast<MoveHost&>(*this), static_cast<PeerHost&>(*this),
                                          *service, std::move(config)));
  end_step();
  return 0;
}

bool Node::is_on_its_way(const exs_svc& service) const {
  return std::any_of(moves_.begin(), moves_.end(),
                     [&service](const auto& move) { return move->is_of(service); });
}

// Called when the program closes the service.
void Node::end_moves_of(std::unique_lock<std::mutex>& guard, exs_svc* service) {
  for (const auto& move : moves_) {
    if (!move->is_of(*service)) continue;
    Move* const ending = move.get();
    ending->abandon();
    move_until(guard, [this, ending] {
      return std::none_of(moves_.begin(), moves_.end(),
                          [ending](const auto& one) { return one.get() == ending && one->is_moving(); });
    });
    break;
  }
  for (const auto& heir : heirs_) {
    if (!heir->is_of(*service)) continue;
    exs_svc& door = heir->door();
    give_up_name(door);
    move_until(guard, [&door] {
      door.stop_moving();
      return !door.is_moving();
    });
    std::erase_if(heirs_, [service](const auto& one) { return one->is_of(*service); });
    break;
  }
}

void Node::go_on_with_moves() {
  for (const auto& move : moves_) move->go_on();
  for (const auto& heir : heirs_) heir->go_on();
}

void Node::remove_ended_moves() {
  // A service that stays may have been overtaken meanwhile.
  if (std::erase_if(moves_, [](const auto& move) { return move->is_over(); }) > 0) look_at_holds();
  std::erase_if(heirs_, [](const auto& heir) { return heir->is_done() && !heir->door().has_flows(); });
}

// ---------------------------------------------------------------- what moves ask for

exs_svc_peer* Node::open_peer_of(Move& move, Peer::Config config) {
  auto peer = std::make_unique<exs_svc_peer>(static_cast<PeerHost&>(move), std::move(config));
  exs_svc_peer* const opened = peer.get();
  peers_.emplace(opened, std::move(peer));
  return opened;
}

std::vector<exs_svc_event_t> Node::take_events(const Service& service) {
  const auto is_meant = [&service](const exs_svc_event_t& event) {
    return event.service == &service &&
           (event.type == EXS_SVC_EVT_MESSAGE || event.type == EXS_SVC_EVT_REQUEST);
  };
  std::vector<exs_svc_event_t> taken;
  std::copy_if(events_.begin(), events_.end(), std::back_inserter(taken), is_meant);
  std::erase_if(events_, is_meant);
  return taken;
}

void Node::give_back_events(const std::vector<exs_svc_event_t>& events) {
  for (const exs_svc_event_t& event : events) tell(event);
}

void Node::has_moved(exs_svc& service, std::vector<std::uint8_t> record) {
  const std::int64_t now = now_ns();
  std::erase_if(departures_, [now](const auto& entry) { return entry.second.until_ns <= now; });
  departures_[service.id()] = {std::move(record), after(now, kDepartureNs)};
  const auto here = services_.find(service.id());
  elsewhere_.emplace(&service, std::move(here->second));
  services_.erase(here);
}

std::vector<std::uint8_t> Node::take_over(exs_svc& service) {
  errno = services_.contains(service.id()) ? EADDRINUSE : take_name(service);
  if (errno != 0) return {};
  const auto waiting = elsewhere_.find(&service);
  services_.emplace(service.id(), std::move(waiting->second));
  elsewhere_.erase(waiting);
  departures_.erase(service.id());
  look_at_holds();
  for (const auto& heir : heirs_)
    if (heir->is_of(service)) give_up_name(heir->door());
  return service.last_record();
}

// ---------------------------------------------------------------- names

int Node::take_name(exs_svc& service) {
  const std::shared_ptr<Hold> hold = service.begin_hold(now_ns());
  const int error =
      keeper_->claim(service.id(), service.record(addresses_), config_.ways, &service.key(), {hold, sink_});
  service.has_name = error == 0;
  return error;
}

// A process that waits for the lease of a fenced service serves as soon as it has it.
void Node::give_up_name(exs_svc& service) {
  const bool serves = service.has_name && !service.is_frozen() && !service.is_suspended();
  if (serves && service.hold().is_fenced()) service.suspend(now_ns());
  if (std::exchange(service.has_name, false)) keeper_->unclaim(service.id());
}

// Returns NULL if the service is not here.
exs_svc* Node::find_here(const IdBytes& id) {
  if (const auto service = services_.find(id); service != services_.end()) return service->second.get();
  // If several heirs wait, the one that waited last.
  const auto heir =
      std::find_if(heirs_.rbegin(), heirs_.rend(), [&id](const auto& one) { return one->door().id() == id; });
  return heir == heirs_.rend() ? nullptr : &(*heir)->door();
}

void Node::send_elsewhere(Link& link, std::uint32_t alias, const IdBytes& id) {
  const auto departure = departures_.find(id);
  const bool is_known = departure != departures_.end() && now_ns() < departure->second.until_ns;
  std::array<std::uint8_t, kFrameMax> room;
  link.send(is_known ? encode_flow_moved(room, alias, 0, departure->second.record)
                     : encode_flow_no(room, alias, 0, Refusal::kNobody));
}

}  // namespace exs::svc
