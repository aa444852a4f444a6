// Moves of a service: what it hands over, and how the adopter takes that over.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <new>

#include "base/check.h"
#include "service/node/service.h"

namespace exs::svc {
namespace {

MovedMessage moved_message(const exs_svc_message_t& message) {
  MovedMessage moved;
  std::copy(std::begin(message.from.bytes), std::end(message.from.bytes), moved.from.begin());
  if (const std::optional<CallName>& call = call_of(&message)) {
    moved.is_request = true;
    moved.client = call->flow.first;
    moved.flow_number = call->flow.second;
    moved.call = call->call;
    moved.limit_ns = message.limit_ns;
  }
  const auto bytes_of = [](const exs_svc_item_t& item) {
    return Bytes(static_cast<const std::uint8_t*>(item.data), item.length);
  };
  moved.items.count = message.items_count;
  std::transform(message.items, message.items + message.items_count, moved.items.item.begin(), bytes_of);
  std::transform(message.longs, message.longs + message.longs_count, std::back_inserter(moved.longs),
                 bytes_of);
  return moved;
}

exs_svc_message_t* message_of(const MovedMessage& moved, const std::shared_ptr<Windows>& keeps,
                              const std::shared_ptr<Share>& share) {
  std::vector<exs_svc_item_t> longs;
  for (const Bytes item : moved.longs) longs.push_back({const_cast<std::uint8_t*>(item.data()), item.size()});
  MessageParts parts;
  parts.from = moved.from;
  parts.items = &moved.items;
  parts.longs = longs;
  parts.windows = keeps;
  parts.share = share;
  parts.limit_ns = moved.limit_ns;
  if (moved.is_request) parts.call = CallName{{moved.client, moved.flow_number}, moved.call};
  return make_message(std::move(parts));
}

// Returns the numbers of the flow's requests among `waiting`.
std::vector<std::uint64_t> calls_among(const std::vector<exs_svc_event_t>& waiting, const FlowName& flow) {
  std::vector<std::uint64_t> calls;
  for (const exs_svc_event_t& event : waiting) {
    const std::optional<CallName>& name = call_of(event.message);
    if (name && name->flow == flow) calls.push_back(name->call);
  }
  return calls;
}

}  // namespace

// ---------------------------------------------------------------- here

void Service::freeze() {
  EXS_CHECK(!is_frozen_ && !is_over_);
  is_frozen_ = true;
  mailbox_->is_frozen = true;
  for (const auto& [name, flow] : flows_)
    if (flow->is_receiving() && flow->link() != nullptr) flow->link()->end();  // the sender may be slow
}

void Service::thaw() {
  EXS_CHECK(is_frozen_);
  is_frozen_ = false;
  mailbox_->is_frozen = false;
  let_go_of_flows(Refusal::kNoRoom);
}

bool Service::is_drained(const std::vector<exs_svc_event_t>& waiting, bool is_late) const {
  const bool is_still = std::none_of(flows_.begin(), flows_.end(), [](const auto& entry) {
    return entry.second->is_moving() || entry.second->has_longs();
  });
  return is_still && (is_late || mailbox_->count.load() == waiting.size());
}

void Service::cut_short(const std::vector<exs_svc_event_t>& waiting) {
  for (const auto& [name, flow] : flows_) flow->cut_short(calls_among(waiting, name));
}

Handover Service::moved(const std::vector<exs_svc_event_t>& waiting) const {
  Handover handover;
  for (const auto& [name, flow] : flows_) handover.flows.push_back(flow->moved());
  for (const exs_svc_event_t& event : waiting) handover.messages.push_back(moved_message(*event.message));
  return handover;
}

void Service::leave_to(Bytes record) {
  close_flows([record](ServiceFlow& flow) {
    std::array<std::uint8_t, kFrameMax> room;
    flow.link()->send(encode_flow_moved(room, flow.alias(), flow.accepted(), record));
  });
}

// ---------------------------------------------------------------- there

bool Service::resume(const HandoverHead& head, const Handover& handover,
                     const std::shared_ptr<Windows>& keeps, std::vector<exs_svc_event_t>& events) {
  EXS_CHECK(flows_.empty() && kept_.empty());  // an earlier preparation has been forgotten
  instance_ = head.instance;
  epoch_ = head.epoch;
  const std::uint64_t now = boottime_ns();
  // The sender of a flow proves its identity when it opens it again; until then the flow counts for nobody.
  const auto nobodys = std::make_shared<Share>(mailbox_);
  for (const MovedFlow& moved : handover.flows) {
    const FlowName name{moved.client, moved.flow_number};
    auto flow = std::make_unique<ServiceFlow>(*this, name, moved.from, std::make_shared<Share>(mailbox_));
    if (!flow->resume(moved)) return false;
    const auto [entry, is_new] = flows_.emplace(name, std::move(flow));
    if (is_new) keep(*entry->second, now);
  }
  for (const MovedMessage& moved : handover.messages) {
    exs_svc_event_t event{};
    event.type = moved.is_request ? EXS_SVC_EVT_REQUEST : EXS_SVC_EVT_MESSAGE;
    event.handle = config_.handle;
    event.service = static_cast<exs_svc*>(this);
    event.message = message_of(moved, keeps, nobodys);
    if (event.message == nullptr) return false;
    events.push_back(event);
  }
  return true;
}

void Service::forget_all() {
  flows_.clear();
  kept_.clear();
}

}  // namespace exs::svc
