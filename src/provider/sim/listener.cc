// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/sim/listener.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/contain.h"
#include "base/kernel.h"
#include "src/provider/sim/link.h"
#include "src/provider/sim/port.h"

namespace exs::sim {

void SimRequest::reject(std::span<const std::byte> private_data) noexcept {
  const std::uint64_t client = take_client();
  if (client == 0) return;
  LockGuard guard(network_->mutex);
  SimLink* const asking = network_->link(client);
  if (asking == nullptr) return;
  Event answer{EventKind::kRefused, client};
  answer.due_ns = network_->due_after(asking->last_arrival_ns());
  // Without memory for the reason the peer is refused without one.
  contain([&] { answer.bytes.assign(private_data.begin(), private_data.end()); }, [] {});
  network_->schedule(asking->port(), std::move(answer));
}

bool SimRequest::peer_is_gone() const noexcept {
  LockGuard guard(network_->mutex);
  const SimLink* const asking = network_->link(client_);
  return client_ != 0 && (asking == nullptr || !asking->is_connecting());
}

Result<std::unique_ptr<ProcessListener>> SimListening::start(std::shared_ptr<Network> network, int descriptor,
                                                             int backlog) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (kernel::getsockname(descriptor, as_sockaddr(address), &length) != 0) return failure(errno);
  Network& on = *network;
  std::unique_ptr<SimListening> made;
  Status status;
  {
    LockGuard guard(on.mutex);
    made.reset(new SimListening(std::move(network), on.next_id(), address,
                                static_cast<std::size_t>(std::max(backlog, 1))));
    status = on.add(*made);
  }
  if (!status.ok()) return failure(status);
  return std::unique_ptr<ProcessListener>(std::move(made));
}

// A request that goes unanswered takes the mutex itself.
SimListening::~SimListening() {
  Fifo<std::unique_ptr<SimRequest>> waiting;
  {
    LockGuard guard(network_->mutex);
    network_->remove(*this);
    waiting = std::move(requests_);
  }
}

std::unique_ptr<SimRequest> SimListening::next_request() {
  LockGuard guard(network_->mutex);
  return requests_.empty() ? nullptr : requests_.pop_front();
}

void SimListening::make_room() {
  requests_.reserve(requests_.count() + 1);
  if (port_ != nullptr) port_->events().make_room(1);
}

void SimListening::add(std::unique_ptr<SimRequest> request) noexcept {
  requests_.push_back(std::move(request));
  tell_port();
}

void SimListening::attach(SimPort* port) {
  if (port != nullptr) port->events().make_room(requests_.count());
  port_ = port;
  for (std::size_t i = 0; i < requests_.count(); ++i) tell_port();
}

void SimListening::tell_port() noexcept {
  network_->mutex.assert_held();
  if (port_ == nullptr) return;
  Event told{EventKind::kRequest, id_};
  told.due_ns = network_->now_ns();
  network_->schedule(*port_, std::move(told));
}

SimPortListener::SimPortListener(SimPort& port, SimListening& listening, std::uint64_t token)
    : port_(port), listening_(listening), token_(token), completions_(port.completions().make_source()) {
  {
    LockGuard guard(port_.network().mutex);
    listening_.attach(&port_);
  }
  port_.listeners().push_back(this);  // which has room
}

SimPortListener::~SimPortListener() {
  std::erase(port_.listeners(), this);
  LockGuard guard(port_.network().mutex);
  listening_.attach(nullptr);
  port_.events().remove_all_of(listening_.id());
}

void SimPortListener::tell() {
  port_.completions().push(*completions_, {CompletionKind::kRequest, Status(), 0, token_, 0});
}

}  // namespace exs::sim
