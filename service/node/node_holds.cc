// Services that another process has overtaken, and services that serve only while they have a lease.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "service/names/address.h"
#include "service/node/node.h"

namespace exs::svc {

// Returns NULL if services of this node can have leases.
const char* Node::why_no_lease() const {
  if (!config_.ways.directory)
    return "EXS_SVC_FENCED needs a directory: `directory` of the node, or EXS_SVC_DIRECTORY";
  const auto is_here = [](const sockaddr_storage& address) { return is_loopback(address); };
  if (!is_here(*config_.ways.directory) && std::all_of(addresses_.begin(), addresses_.end(), is_here))
    return "EXS_SVC_FENCED needs an address that other hosts reach: `listen` of the node, or EXS_SVC_LISTEN";
  return nullptr;
}

// Called before the node acts for a service: the thread may have waited for the lock meanwhile.
void Node::look_at_fences() {
  if (fence_ns_ != kNever && now_ns() >= fence_ns_) look_at_holds();
}

void Node::look_at_holds() {
  const std::int64_t now = now_ns();
  fence_ns_ = kNever;
  std::vector<exs_svc*> overtaken;
  for (const auto& [id, service] : services_) {
    const Hold& hold = service->hold();
    if (hold.is_lost() && !is_on_its_way(*service)) {
      overtaken.push_back(service.get());
    } else if (hold.is_fenced()) {
      fence_ns_ = std::min(fence_ns_, look_at_fence(*service, now));
    }
  }
  for (exs_svc* const service : overtaken) end_overtaken(*service);
  if (fence_ns_ != kNever) wake_at(fence_ns_);
}

// Returns when the fence is due again.
std::int64_t Node::look_at_fence(exs_svc& service, std::int64_t now) {
  const Hold& hold = service.hold();
  const bool may_serve = hold.may_serve(now);
  if (may_serve && service.is_suspended()) {
    service.resume();
    tell_of(service, EXS_SVC_EVT_OPEN, 0);
    give_back_events(service.take_back_events());
  } else if (!may_serve && !service.is_suspended()) {
    service.suspend(now);
    for (const exs_svc_event_t& event : take_events(service)) service.keep_back(event);
  }
  if (may_serve) return hold.until_ns();
  if (!service.is_suspension_due(now)) return service.suspension_due_ns();
  service.suspension_is_told();
  tell_of(service, EXS_SVC_EVT_SUSPENDED, ETIMEDOUT);
  return kNever;
}

// Peers find the new owner by the service's name.
void Node::end_overtaken(exs_svc& service) {
  for (const exs_svc_event_t& event : take_events(service)) discard(event);
  service.end();
  give_up_name(service);
  const auto here = services_.find(service.id());
  elsewhere_.emplace(&service, std::move(here->second));
  services_.erase(here);
  tell_of(service, EXS_SVC_EVT_OVERTAKEN, 0);
}

void Node::tell_of(exs_svc& service, std::int32_t type, std::int32_t error) {
  exs_svc_event_t event{};
  event.type = type;
  event.error = error;
  event.handle = service.handle();
  event.service = &service;
  tell(event);
}

}  // namespace exs::svc
