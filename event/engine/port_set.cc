// SPDX-License-Identifier: BSD-2-Clause
#include "event/engine/port_set.h"

#include <algorithm>
#include <utility>

#include "base/contain.h"

namespace exs {
namespace {

// How long a port counts as busy, and how often a silent one is polled meanwhile.
constexpr std::uint64_t kStillBusyNs = 50'000;
constexpr std::uint64_t kSilentPollNs = 50'000;

}  // namespace

// The network's port must open, if there is one; without the others connections take another way.
Status PortSet::open(ProviderSet& providers, Company& company) {
  slots_.reserve(kPortsMax);  // so that none moves if a completion makes a session open the readiness port
  for (const Role role : kRoles) {
    const Status status = open_player(providers, company, role);
    if (!status.ok() && role == Role::kNetwork) return status;
  }
  return Status();
}

Status PortSet::open_player(ProviderSet& providers, Company& company, Role role) {
  const auto index = static_cast<std::size_t>(role);
  Provider* const provider = providers.player(role);
  if (provider == nullptr) {
    missing_[index] = Reason::make(ReasonCode::kNotBuilt, "");
    return Status();
  }
  auto port = provider->open_port(missing_[index]);
  if (!port) return port.error();
  (*port)->expect_company(company);
  players_[index] = port->get();
  slots_.push_back({std::move(*port)});
  return Status();
}

Result<Readiness*> PortSet::open_readiness() {
  auto opened = Readiness::open();
  if (!opened) return failure(opened.error());
  readiness_ = opened->get();
  slots_.push_back({std::move(*opened)});
  return readiness_;
}

void PortSet::bind_engine_thread() {
  for (PortSlot& slot : slots_) {
    if (SingleIssuer* const issuer = slot.port->single_issuer())
      contain([&] { issuer->bind_thread(); }, [] {});  // the slower way needs no memory
  }
}

bool PortSet::is_due(const PortSlot& slot, std::uint64_t now_ns, std::uint64_t last_busy_ns) {
  if (now_ns - last_busy_ns >= kStillBusyNs || now_ns - slot.busy_ns < kStillBusyNs) return true;
  return now_ns - slot.polled_ns >= kSilentPollNs;
}

void PortSet::poll_all(std::uint64_t now_ns, const ReadyPorts& ready) {
  const std::uint64_t last_busy_ns = slots_.size() == 1 ? 0 : busy_ns_;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    PortSlot& slot = slots_[i];
    if (!ready[i] && slot.port->next_deadline_ns() > now_ns) {
      [[maybe_unused]] const bool done = slot.port->poll_memory(false);
    } else if (is_due(slot, now_ns, last_busy_ns)) {
      slot.polled_ns = now_ns;
      slot.port->progress(now_ns);
    } else {
      continue;
    }
    note_arrivals(slot, now_ns);
  }
}

bool PortSet::poll_memory(std::uint64_t now_ns, const ReadyPorts& ready) {
  bool all = !slots_.empty();  // without ports there are timers only
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    all = slots_[i].port->poll_memory(ready[i]) && all;
    note_arrivals(slots_[i], now_ns);
  }
  return all;
}

void PortSet::note_arrivals(PortSlot& slot, std::uint64_t now_ns) {
  const std::uint64_t arrivals = slot.port->arrivals();
  if (arrivals == slot.arrivals) return;
  arrivals_.store(arrivals_.load(std::memory_order_relaxed) + arrivals - slot.arrivals,
                  std::memory_order_relaxed);
  slot.arrivals = arrivals;
  slot.busy_ns = busy_ns_ = now_ns;
  shown_ = &slot;
  looks_in_a_row_ = slot.port->looks_in_a_row();
}

void PortSet::flush() {
  for (PortSlot& slot : slots_) slot.port->flush();
}

std::uint64_t PortSet::next_deadline_ns() const {
  std::uint64_t deadline_ns = kNoDeadline;
  for (const PortSlot& slot : slots_) deadline_ns = std::min(deadline_ns, slot.port->next_deadline_ns());
  return deadline_ns;
}

bool PortSet::arm() {
  armed_ = true;
  bool quiet = true;
  for (PortSlot& slot : slots_) quiet = slot.port->arm() && quiet;
  return quiet;
}

void PortSet::disarm() {
  if (!armed_) return;
  armed_ = false;
  for (PortSlot& slot : slots_) slot.port->disarm();
}

WatchedPorts PortSet::watched() const {
  WatchedPorts watched;
  for (const PortSlot& slot : slots_) watched.add(slot.port->wait_fd());
  return watched;
}

}  // namespace exs
