// Services that another process has overtaken, and services that serve only while they have a lease.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "base/refusal.h"
#include "service/names/address.h"
#include "service/node/node.h"

namespace exs::svc {

Status Node::check_lease_possible() const {
  if (!config_.ways.directory)
    return refuse(EINVAL, "EXS_SVC_FENCED needs a directory: `directory` of the node, or EXS_SVC_DIRECTORY");
  const auto is_here = [](const sockaddr_storage& address) { return is_loopback(address); };
  if (!is_here(*config_.ways.directory) && std::all_of(addresses_.begin(), addresses_.end(), is_here))
    return refuse(EINVAL,
                  "EXS_SVC_FENCED needs an address that other hosts reach: `listen` of the node, or "
                  "EXS_SVC_LISTEN");
  return {};
}

// Called before the node acts for a service: the thread may have waited for the lock meanwhile.
void Node::check_fences() {
  if (fence_ns_ != kNeverNs && boottime_ns() >= fence_ns_) check_leases();
}

void Node::check_leases() {
  const std::uint64_t now = boottime_ns();
  fence_ns_ = kNeverNs;
  std::vector<exs_svc*> overtaken;
  for (const auto& [id, service] : services_) {
    const Hold& hold = service->hold();
    if (hold.is_lost() && !is_on_its_way(*service)) {
      overtaken.push_back(service.get());
    } else if (hold.is_fenced()) {
      fence_ns_ = std::min(fence_ns_, check_fence(*service, now));
    }
  }
  for (exs_svc* const service : overtaken) end_overtaken(*service);
  if (fence_ns_ != kNeverNs) wake_at(fence_ns_);
}

// Returns when the fence is due again.
std::uint64_t Node::check_fence(exs_svc& service, std::uint64_t now) {
  const Hold& hold = service.hold();
  const bool may_serve = hold.may_serve(now);
  if (may_serve && service.is_suspended()) {
    service.resume();
    report_of(service, EXS_SVC_EVT_OPEN, 0);
    give_back_events(service.take_back_events());
  } else if (!may_serve && !service.is_suspended()) {
    service.suspend(now);
    for (const exs_svc_event_t& event : take_events(service)) service.keep_back(event);
  }
  if (may_serve) return hold.until_ns();
  if (!service.is_suspension_due(now)) return service.suspension_due_ns();
  service.suspension_was_reported();
  report_of(service, EXS_SVC_EVT_SUSPENDED, ETIMEDOUT);
  return kNeverNs;
}

// Peers find the new owner by the service's name.
void Node::end_overtaken(exs_svc& service) {
  for (const exs_svc_event_t& event : take_events(service)) discard(event);
  service.end();
  give_up_name(service);
  const auto here = services_.find(service.id());
  EXS_CHECK(here != services_.end() && here->second.get() == &service);
  departed_.emplace(&service, std::move(here->second));
  services_.erase(here);
  report_of(service, EXS_SVC_EVT_OVERTAKEN, 0);
}

void Node::report_of(exs_svc& service, std::int32_t type, std::int32_t error) {
  exs_svc_event_t event{};
  event.type = type;
  event.error = error;
  event.handle = service.handle();
  event.service = &service;
  report(event);
}

}  // namespace exs::svc
