// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/sim/network.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/clock.h"
#include "src/provider/sim/link.h"
#include "src/provider/sim/listener.h"
#include "src/provider/sim/port.h"

namespace exs::sim {
namespace {

// Those that connecting ends get.
constexpr std::uint16_t kFirstPort = 49'152;
constexpr std::uint16_t kPorts = 16'384;

bool covers(const sockaddr_storage& listening, const sockaddr_storage& asked) {
  if (port_of(listening) != port_of(asked)) return false;
  return is_any(*as_sockaddr(listening)) || is_same_host(*as_sockaddr(listening), *as_sockaddr(asked));
}

}  // namespace

std::uint64_t Network::now_ns() const {
  return clock_ != nullptr ? clock_->now_ns() : monotonic_ns();
}

std::uint64_t Network::delay_ns() {
  return draws_.between(settings.delay_min_ns, settings.delay_max_ns);
}

std::uint64_t Network::due_after(std::uint64_t& last_ns) {
  last_ns = std::max(now_ns() + delay_ns(), last_ns + 1);
  return last_ns;
}

void Network::schedule(SimPort& port, Event event) noexcept {
  event.draw = draws_.next();
  event.number = ++events_;
  port.enqueue(std::move(event));
}

// ---------------------------------------------------------------- faults

void Network::step(const Event& event) {
  ++steps_;
  const std::uint64_t since_ns = clock_ != nullptr ? event.due_ns - VirtualClock::kStartNs : 0;
  for (const std::uint64_t part : {since_ns, event.link, static_cast<std::uint64_t>(event.kind),
                                   static_cast<std::uint64_t>(event.bytes.size()), event.to.length_bytes})
    trace_ = mixed(trace_ * 31 + part + 1);
  // Drawn for every event, so that what one fault does changes no other.
  const bool is_lost = settings.lose.comes(steps_, draws_);
  const bool dies = settings.die.comes(steps_, draws_);
  const bool is_slow = settings.slow.comes(steps_, draws_);
  const bool starves = settings.starve.comes(steps_, draws_);
  SimLink* const hit = link(event.link);
  if (hit == nullptr) return;
  if (is_lost) lose(*hit, Status(ECONNRESET));
  if (dies) kill_service_of(*hit);
  if (is_slow) delay_all_to(*hit);
  if (starves) hit->delay_messages(now_ns() + settings.pause_ns);
}

void Network::delay_all_to(SimLink& link) {
  link.delay_messages(now_ns() + settings.pause_ns);
  link.delay_own(now_ns() + settings.pause_ns);
}

void Network::kill_service_of(SimLink& link) {
  const std::uint16_t service = link.service();
  away_until_ns_[service] = now_ns() + settings.down_ns;
  for (const auto& [id, each] : links_) {
    if (each->service() == service) lose(*each, Status(ECONNRESET));
  }
}

void Network::lose(SimLink& link, Status why) noexcept {
  SimLink* const peer = this->link(link.peer_id());
  link.lose(why);
  if (peer != nullptr) peer->lose(Status(ECONNRESET));
}

void Network::need_memory() {
  if (settings.nomem.comes(++calls_, draws_)) throw std::bad_alloc();
}

// ---------------------------------------------------------------- links and listeners

std::uint16_t Network::next_port() {
  return static_cast<std::uint16_t>(kFirstPort + ports_++ % kPorts);
}

void Network::add(SimLink& link) {
  links_.emplace(link.id(), &link);
}

void Network::remove(SimLink& link) noexcept {
  links_.erase(link.id());
}

SimLink* Network::link(std::uint64_t id) {
  const auto found = links_.find(id);
  return found == links_.end() ? nullptr : found->second;
}

bool Network::is_taken(const sockaddr_storage& address) const {
  return std::any_of(listenings_.begin(), listenings_.end(), [&](const auto& each) {
    return covers(each.second->address(), address) || covers(address, each.second->address());
  });
}

Status Network::add(SimListening& listening) {
  if (is_taken(listening.address())) return Status(EADDRINUSE);
  listenings_.emplace(listening.id(), &listening);
  return Status();
}

void Network::remove(SimListening& listening) noexcept {
  listenings_.erase(listening.id());
}

SimListening* Network::listening_at(const sockaddr_storage& address) {
  const auto away = away_until_ns_.find(port_number(address));
  if (away != away_until_ns_.end() && now_ns() < away->second) return nullptr;
  for (const auto& [id, each] : listenings_) {
    if (covers(each->address(), address)) return each;
  }
  return nullptr;
}

}  // namespace exs::sim
