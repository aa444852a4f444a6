// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/sim/port.h"

#include <sys/eventfd.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/clock.h"
#include "base/contain.h"
#include "base/kernel.h"
#include "base/socket_address.h"
#include "src/provider/sim/link.h"

namespace exs::sim {

Result<std::unique_ptr<Port>> SimPort::open(std::shared_ptr<Network> network) {
  UniqueFd doorbell(network->is_virtual()
                        ? kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)
                        : kernel::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!doorbell.valid()) return failure(errno);
  return std::make_unique<SimPort>(std::move(network), std::move(doorbell));
}

std::uint64_t SimPort::draw_id() {
  LockGuard guard(network_->mutex);
  return network_->next_id();
}

TagKey SimPort::draw_window_key() {
  LockGuard guard(network_->mutex);
  return {network_->draw(), network_->draw()};
}

// ---------------------------------------------------------------- events

void SimPort::enqueue(Event event) noexcept {
  const bool is_first = events_.empty() || event.due_ns < events_.first().due_ns;
  events_.push(std::move(event));
  if (armed_ && is_first) ring();
}

void SimPort::ring() noexcept {
  if (!network_->is_virtual()) return set_timer();
  if (rung_) return;
  rung_ = true;
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(doorbell_.get(), &one, sizeof one);
}

// To the time of the first event. That also silences a timer which has gone off.
void SimPort::set_timer() noexcept {
  const std::uint64_t due_ns = events_.empty() ? kNoDeadline : events_.first().due_ns;
  if (network_->is_virtual() || due_ns == timer_ns_) return;
  timer_ns_ = due_ns;
  const itimerspec when{{0, 0}, due_ns == kNoDeadline ? timespec{} : to_timespec(due_ns)};
  kernel::timerfd_settime(doorbell_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

bool SimPort::hear_doorbell() noexcept {
  LockGuard guard(network_->mutex);
  if (!network_->is_virtual()) return !events_.empty() && events_.first().due_ns <= network_->now_ns();
  if (!rung_) return false;
  rung_ = false;
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = kernel::read(doorbell_.get(), &count, sizeof count);
  return true;
}

void SimPort::progress(std::uint64_t now_ns) {
  [[maybe_unused]] const bool was_rung = hear_doorbell();
  happen_until(now_ns);
}

// A sleep that ended without the doorbell ended by the time, which timers wait for, too.
bool SimPort::poll_memory(bool rang) {
  const bool was_rung = rang && hear_doorbell();
  happen_until(network_->now_ns());
  return was_rung || !rang;
}

void SimPort::happen_until(std::uint64_t now_ns) {
  for (;;) {
    Event event;
    {
      LockGuard guard(network_->mutex);
      if (events_.empty() || events_.first().due_ns > now_ns) return set_timer();
      event = events_.pop();
      network_->step(event);
    }
    ++arrivals_;
    happen(event);
  }
}

// A taker posts to its link, so it is called without the mutex. Only this thread destroys its links.
void SimPort::happen(Event& event) {
  SimLink* link = nullptr;
  bool shows = false;
  {
    LockGuard guard(network_->mutex);
    link = network_->link(event.link);
    shows = event.kind == EventKind::kMessage && link != nullptr && link->shows_messages();
  }
  if (event.kind == EventKind::kRequest) return tell_listener(event.link);
  if (link == nullptr || (shows && link->show(event))) return;
  LockGuard guard(network_->mutex);
  try {
    if (event.kind == EventKind::kAsk) {
      ask(*link, event);
    } else {
      link->happen(event);
    }
  } catch (const std::bad_alloc&) {
    link->out_of_memory();
  }
}

// A request that nobody can be told of is refused: otherwise its peer would wait for the next one.
void SimPort::tell_listener(std::uint64_t id) {
  for (SimPortListener* const listener : listeners_) {
    if (listener->id() != id) continue;
    contain([&] { listener->tell(); }, [&] { listener->refuse_one(); });
  }
}

std::uint64_t SimPort::next_deadline_ns() const noexcept {
  LockGuard guard(network_->mutex);
  return events_.empty() ? kNoDeadline : events_.first().due_ns;
}

bool SimPort::arm() {
  LockGuard guard(network_->mutex);
  armed_ = true;
  set_timer();
  return events_.empty() || events_.first().due_ns > network_->now_ns();
}

void SimPort::disarm() {
  LockGuard guard(network_->mutex);
  armed_ = false;
}

// ---------------------------------------------------------------- connecting

Result<std::unique_ptr<Link>> SimPort::connect(int descriptor, const sockaddr* peer, socklen_t /*peer_bytes*/,
                                               const ConnectParameters& parameters,
                                               std::uint64_t link_token) {
  AddressPair ends;
  ends.peers = copy_of(*peer);
  socklen_t length = sizeof ends.ours;
  if (kernel::getsockname(descriptor, as_sockaddr(ends.ours), &length) != 0) return failure(errno);
  if (is_any(*as_sockaddr(ends.ours))) {
    const in_port_t bound = port_of(ends.ours);
    ends.ours = ends.peers;
    port_of(ends.ours) = bound;
  }
  {
    LockGuard guard(network_->mutex);
    network_->need_memory();
    if (port_of(ends.ours) == 0) port_of(ends.ours) = htons(network_->next_port());
  }
  auto link =
      std::make_unique<SimLink>(*this, SimLink::Side::kInitiator, ends, parameters.depths, link_token);
  Event question{EventKind::kAsk, link->id()};
  question.bytes.assign(parameters.private_data.begin(), parameters.private_data.end());
  LockGuard guard(network_->mutex);
  events_.make_room(1);
  question.due_ns = network_->due_after(link->last_arrival_ns());
  network_->schedule(*this, std::move(question));
  return link;
}

void SimPort::ask(SimLink& link, Event& question) {
  network_->mutex.assert_held();
  if (!link.is_connecting()) return;
  AddressPair seen;
  link.addresses(seen.peers, seen.ours);
  SimListening* const listening = network_->listening_at(seen.ours);
  UniqueFd descriptor;
  if (listening != nullptr && !listening->is_full())
    descriptor = UniqueFd(kernel::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!descriptor.valid()) {
    Event refusal{EventKind::kRefused, link.id()};
    return link.happen(refusal);
  }
  listening->make_room();
  link.asked();
  listening->add(std::make_unique<SimRequest>(network_, link.id(), seen, std::move(question.bytes),
                                              std::move(descriptor)));
}

Result<std::unique_ptr<PortListener>> SimPort::listen(int /*descriptor*/, const ListenParameters& parameters,
                                                      std::uint64_t listener_token) {
  if (parameters.listening == nullptr) return failure(EOPNOTSUPP);
  listeners_.reserve(listeners_.size() + 1);
  return std::make_unique<SimPortListener>(*this, static_cast<SimListening&>(*parameters.listening),
                                           listener_token);
}

Result<std::unique_ptr<Link>> SimPort::accept(std::unique_ptr<ConnectionRequest> request, int /*descriptor*/,
                                              const ConnectParameters& parameters, std::uint64_t link_token) {
  auto& asked = static_cast<SimRequest&>(*request);
  if (asked.peer_is_gone()) return failure(ECONNRESET);
  Event answer;
  answer.kind = EventKind::kEstablished;
  answer.bytes.assign(parameters.private_data.begin(), parameters.private_data.end());
  replies_.reserve(replies_.size() + 1);
  auto link = std::make_unique<SimLink>(*this, SimLink::Side::kResponder, asked.ends(), parameters.depths,
                                        link_token);
  LockGuard guard(network_->mutex);
  const std::uint64_t client_id = asked.take_client();
  SimLink* const client = network_->link(client_id);
  link->learn(asked.take_data());
  link->set_peer(client_id);
  answer.link = client_id;
  if (client != nullptr) client->set_peer(link->id());
  replies_.push_back({link.get(), std::move(answer)});
  return link;
}

void SimPort::reply_now(SimLink& link) {
  network_->mutex.assert_held();
  const auto found =
      std::find_if(replies_.begin(), replies_.end(), [&](const Reply& each) { return each.link == &link; });
  if (found == replies_.end()) return;
  Event answer = std::move(found->answer);
  replies_.erase(found);
  link.reply(std::move(answer));
}

void SimPort::flush() {
  if (replies_.empty()) return;
  LockGuard guard(network_->mutex);
  while (!replies_.empty()) reply_now(*replies_.front().link);
}

void SimPort::forget(SimLink& link) noexcept {
  std::erase_if(replies_, [&](const Reply& each) { return each.link == &link; });
}

}  // namespace exs::sim
