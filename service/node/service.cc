// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/service.h"

#include <algorithm>

#include "base/check.h"
#include "base/undo.h"
#include "service/names/statements.h"

namespace exs::svc {
namespace {

constexpr std::uint64_t kKeptNs = 60'000 * kNsPerMs;
constexpr std::size_t kKeptMax = 4096;
constexpr std::size_t kKeptEachMax = 1024;  // per principal

void refuse(Link& link, std::uint32_t alias, Refusal why, std::uint64_t accepted = 0) {
  std::array<std::uint8_t, kHeaderBytes + 4> room;
  link.send(encode_flow_no(room, alias, accepted, why));
}

}  // namespace

Service::Service(ServiceHost& host, Config config)
    : host_(host),
      config_(std::move(config)),
      id_(config_.key.id()),
      windows_(std::make_shared<WindowMemory>(config_.windows_max_bytes)),
      mailbox_(std::make_shared<Mailbox>(config_.node_lock)) {
  mailbox_->service = this;
}

Service::~Service() {
  for (const exs_svc_event_t& event : kept_back_) discard(event);
  mailbox_->service = nullptr;
  windows_->withdraw();
  close_flows(
      [](ServiceFlow& flow) { refuse(*flow.link(), flow.alias(), Refusal::kNobody, flow.accepted()); });
}

// Closes the flows that are on a link; `say` may send the reason first.
void Service::close_flows(const std::function<void(ServiceFlow&)>& say) {
  for (const auto& [name, flow] : flows_) {
    if (flow->link() == nullptr) continue;
    say(*flow);
    flow->link()->flows.erase(flow->alias());
    flow->close();
  }
}

std::vector<std::uint8_t> Service::record(const std::vector<sockaddr_storage>& addresses) {
  epoch_ = std::max(since_1970_ms(), epoch() + 1);
  record_ = encode_record({config_.key.public_key(), epoch_, instance_, addresses}, config_.key);
  return record_;
}

// ---------------------------------------------------------------- flows

void Service::admit(Link& link, std::uint32_t alias, const Flow& asked, std::uint64_t taken) {
  const Statement about = flow_statement(link.nonces(), alias, id_, asked.client, asked.flow_number);
  if (asked.sender && !is_signed(about, asked.sender->signature, asked.sender->key))
    return refuse(link, alias, Refusal::kNotAllowed);
  const std::uint32_t rights = rights_of(asked, about);
  if (rights == 0) return refuse(link, alias, Refusal::kNotAllowed);
  // What needs memory comes before any change.
  link.flows.reserve(link.flows.size() + 1);
  auto place = decltype(link.flows){{alias, nullptr}}.extract(alias);
  bool is_known = false;
  ServiceFlow* const flow = find_or_make(asked, principal_of(asked.capability, link.host()), is_known);
  if (flow == nullptr) return refuse(link, alias, Refusal::kNotAllowed);
  if (flow->link() != nullptr &&
      flow->is_moving()) {  // on another link, which is broken, or which the sender has given up
    flow->link()->end();
    return refuse(link, alias, Refusal::kNoRoom);
  }
  // An acknowledgement for another instance does not concern replies of this one.
  const std::uint64_t taken_here = is_known && asked.instance == instance_ ? taken : 0;
  place.mapped() = flow;
  const auto opened = link.flows.insert(std::move(place)).position;
  Undo take_back([&] {
    link.flows.erase(opened);
    link_has_gone(*flow);  // at once, as others may be opened before the link ends
  });
  if (!flow->open(link, alias, rights, taken_here)) return link.refuse();
  take_back.cancel();
  const std::uint64_t accepted = flow->accepted();
  const Signature signature = config_.key.sign(answer_statement(about, instance_, accepted, is_known));
  std::array<std::uint8_t, kFrameMax> room;
  link.send(
      encode_flow_ok(room, alias, accepted, {config_.key.public_key(), instance_, signature, is_known}));
  flow->send_all();
}

// Returns 0 if the flow may not be opened.
std::uint32_t Service::rights_of(const Flow& asked, const Statement& about) const {
  if (config_.only_from && (!asked.sender || id_of(asked.sender->key) != *config_.only_from)) return 0;
  const std::optional<CapabilityProof>& shown = asked.capability;
  if (!shown) return config_.only_with_capability ? 0 : EXS_SVC_ALL;
  const bool is_late =
      shown->expires_ms != 0 && static_cast<std::int64_t>(since_1970_ms()) >= shown->expires_ms;
  if (is_late || shown->serial < config_.serial_min || !proves(config_.key, *shown, about)) return 0;
  return shown->rights & EXS_SVC_ALL;
}

// Returns NULL if another sender has a flow of this name.
ServiceFlow* Service::find_or_make(const Flow& asked, const Principal& principal, bool& is_known) {
  forget_old_ones();
  const FlowName name{asked.client, asked.flow_number};
  const IdBytes from = asked.sender ? id_of(asked.sender->key) : IdBytes{};
  const auto known = flows_.find(name);
  std::shared_ptr<Share> share = shares_.of(principal);
  if (known == flows_.end())
    return flows_.emplace(name, std::make_unique<ServiceFlow>(*this, name, from, std::move(share)))
        .first->second.get();
  ServiceFlow& flow = *known->second;
  if (flow.from() != from) return nullptr;
  flow.is_left = false;
  is_known = true;
  if (flow.link() == nullptr) {
    take_from_kept(flow);
  } else if (!flow.is_moving()) {
    flow.link()->flows.erase(flow.alias());  // the sender has given this link up
    flow.end_lane();
    flow.close();
  }
  flow.count_for(std::move(share));
  return &flow;
}

void Service::link_has_gone(ServiceFlow& flow) {
  flow.close();
  if (flow.is_left) return erase(flow.name());
  keep(flow, boottime_ns());
  forget_old_ones();
  host_.wake_at(due_ns());
}

void Service::leave(ServiceFlow& flow) {
  flow.is_left = true;
  if (flow.is_moving()) return flow.link()->end();
  flow.link()->flows.erase(flow.alias());
  flow.end_lane();
  flow.close();
  erase(flow.name());
}

void Service::erase(FlowName name) {
  flows_.erase(name);
}

// Keeps a flow without a link, in case its sender comes back.
void Service::keep(ServiceFlow& flow, std::uint64_t now) {
  if (flow.share().flows_kept == kKeptEachMax) forget_oldest_of(flow.share());
  ++flow.share().flows_kept;
  flow.keep_in(kept_, now);
}

void Service::take_from_kept(ServiceFlow& flow) {
  EXS_CHECK(flow.share().flows_kept > 0);
  --flow.share().flows_kept;
  flow.take_from(kept_);
}

void Service::forget_oldest_of(const Share& share) {
  const auto is_of_share = [&](const auto& entry) { return &flows_.at(entry.first)->share() == &share; };
  const auto oldest = std::find_if(kept_.begin(), kept_.end(), is_of_share);
  EXS_CHECK(oldest != kept_.end());
  forget(oldest);
}

void Service::forget(FlowsKept::iterator one) {
  Share& share = flows_.at(one->first)->share();
  EXS_CHECK(share.flows_kept > 0);
  --share.flows_kept;
  erase(one->first);
  kept_.erase(one);
}

std::uint64_t Service::due_ns() const noexcept {
  return kept_.empty() ? kNeverNs : time_after(kept_.front().second, kKeptNs);
}

void Service::forget_old_ones() {
  const std::uint64_t now = boottime_ns();
  while (!kept_.empty() && (kept_.size() > kKeptMax || time_after(kept_.front().second, kKeptNs) <= now))
    forget(kept_.begin());
}

// ---------------------------------------------------------------- replies

// Returns NULL if nobody waits for the reply any more.
ServiceFlow* Service::find_call(const CallName& name) const {
  if (is_over_) return nullptr;
  const auto flow = flows_.find(name.flow);
  return flow != flows_.end() && flow->second->has_call(name.call) ? flow->second.get() : nullptr;
}

Status Service::reply(const CallName& name, Data& data, Transfer::Pieces longs, void* handle) {
  ServiceFlow* const flow = find_call(name);
  return flow == nullptr ? Status(ECANCELED) : flow->reply(data, std::move(longs), handle);
}

void Service::leave_unanswered(const CallName& name) {
  ServiceFlow* const flow = find_call(name);
  if (flow == nullptr) return;
  Data data;
  data.kind = kIsReply | kUnanswered;
  data.call = name.call;
  static_cast<void>(flow->reply(data, {}, nullptr));
}

Stats Service::stats() const {
  Stats stats;
  stats.open_ns = boottime_ns() - opened_ns_;
  stats.messages = messages_;
  stats.replies = replies_;
  stats.mailbox = mailbox_->count.load();
  for (const auto& [name, flow] : flows_) {
    stats.requests_open += flow->calls();
    if (flow->link() != nullptr) ++stats.flows;
  }
  stats.windows_free = windows_->free_windows();
  return stats;
}

bool Service::is_moving() const {
  return std::any_of(flows_.begin(), flows_.end(),
                     [](const auto& entry) { return entry.second->is_moving(); });
}

void Service::stop_moving() {
  for (const auto& [name, flow] : flows_)
    if (flow->is_moving() && flow->link() != nullptr) flow->link()->end();
}

}  // namespace exs::svc
