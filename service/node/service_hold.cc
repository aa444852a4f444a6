// A service that serves only while it has a lease, and one that another process has overtaken.
// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/lease.h"
#include "service/node/service.h"

namespace exs::svc {

std::shared_ptr<Hold> Service::begin_hold(std::uint64_t now) {
  epoch_ = epoch();
  hold_ = std::make_shared<Hold>(config_.is_fenced);
  is_suspended_ = config_.is_fenced;
  opened_ns_ = now;
  suspension_due_ns_ = is_suspended_ ? time_after(now, Lease::kLeaseNs) : kNeverNs;
  return hold_;
}

void Service::suspend(std::uint64_t now) {
  is_suspended_ = true;
  suspension_due_ns_ = now;
  let_go_of_flows(Refusal::kNoRoom);
}

void Service::resume() {
  is_suspended_ = false;
  suspension_due_ns_ = kNeverNs;
}

void Service::end() {
  is_over_ = true;
  for (const exs_svc_event_t& event : take_back_events()) discard(event);
  let_go_of_flows(Refusal::kNobody);
}

// The flows stay known, so their senders can open them again.
void Service::let_go_of_flows(Refusal why) {
  const std::uint64_t now = boottime_ns();
  for (const auto& [name, flow] : flows_) {
    Link* const link = flow->link();
    if (link == nullptr) continue;
    // Frames must not change before the link is gone.
    if (flow->keeps_replies() || flow->is_moving()) {
      link->end();
      continue;
    }
    std::array<std::uint8_t, kHeaderBytes + 4> room;
    link->send(encode_flow_no(room, flow->alias(), flow->accepted(), why));
    link->flows.erase(flow->alias());
    flow->close();
    keep(*flow, now);
  }
  if (!kept_.empty()) host_.wake_at(due_ns());
}

}  // namespace exs::svc
