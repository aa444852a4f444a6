#include "service/node/service.h"

#include <algorithm>

#include "service/names/statements.h"

namespace exs::svc {
namespace {

constexpr std::int64_t kKeptNs = 60'000 * kNsPerMs;
constexpr std::size_t kKeptMax = 4096;

void refuse(Link& link, std::uint32_t alias, Refusal why, std::uint64_t accepted = 0) {
  std::array<std::uint8_t, kHeaderBytes + 4> room;
  link.send(encode_flow_no(room, alias, accepted, why));
}

}  // namespace

Service::Service(ServiceHost& host, Config config)
    : host_(host), config_(std::move(config)), id_(config_.key.id()) {}

Service::~Service() {
  for (const auto& [name, flow] : flows_) {
    host_.forget(*flow);
    if (flow->link == nullptr) continue;
    refuse(*flow->link, flow->alias, Refusal::kNobody, flow->incoming.accepted());
    flow->link->flows.erase(flow->alias);
  }
}

std::vector<std::uint8_t> Service::record(const std::vector<sockaddr_storage>& addresses) const {
  const auto epoch = static_cast<std::uint64_t>(since_1970_ms());
  return encode_record({config_.key.public_key(), epoch, instance_, addresses}, config_.key);
}

// ---------------------------------------------------------------- flows

void Service::admit(Link& link, std::uint32_t alias, const Flow& asked) {
  const Statement about = flow_statement(link.nonces(), alias, id_, asked.client, asked.flow_number);
  if (asked.sender && !is_signed(about, asked.sender->signature, asked.sender->key))
    return refuse(link, alias, Refusal::kNotAllowed);
  const std::uint32_t rights = rights_of(asked, about);
  if (rights == 0) return refuse(link, alias, Refusal::kNotAllowed);
  ServiceFlow* const flow = find_or_make(asked, rights);
  if (flow == nullptr) return refuse(link, alias, Refusal::kNotAllowed);
  flow->link = &link;
  flow->alias = alias;
  link.flows.emplace(alias, flow);
  const std::uint64_t accepted = flow->incoming.accepted();
  flow->incoming.tell();
  const Signature signature = config_.key.sign(answer_statement(about, instance_, accepted));
  std::array<std::uint8_t, kFrameMax> room;
  link.send(encode_flow_ok(room, alias, accepted, {config_.key.public_key(), instance_, signature}));
}

// None: it may not be opened.
std::uint32_t Service::rights_of(const Flow& asked, const Statement& about) const {
  const std::optional<CapabilityProof>& shown = asked.capability;
  if (!shown) return config_.only_with_capability ? 0 : EXS_SVC_ALL;
  const bool is_late = shown->expires_ms != 0 && since_1970_ms() >= shown->expires_ms;
  if (is_late || shown->serial < config_.serial_min || !proves(config_.key, *shown, about)) return 0;
  return shown->rights & EXS_SVC_ALL;
}

// NULL: another sender has a flow of this name.
ServiceFlow* Service::find_or_make(const Flow& asked, std::uint32_t rights) {
  forget_old_ones();
  const ServiceFlow::Name name{asked.client, asked.flow_number};
  const IdBytes from = asked.sender ? id_of(asked.sender->key) : IdBytes{};
  const auto known = flows_.find(name);
  if (known == flows_.end()) {
    auto made = std::make_unique<ServiceFlow>(ServiceFlow{this, name, from, rights, {}, nullptr, 0, false});
    return flows_.emplace(name, std::move(made)).first->second.get();
  }
  ServiceFlow& flow = *known->second;
  if (flow.from != from) return nullptr;
  if (flow.link != nullptr) {
    flow.link->flows.erase(flow.alias);  // which the sender has given up
    flow.link = nullptr;
  } else {
    std::erase_if(left_, [&](const auto& entry) { return entry.first == name; });
  }
  flow.rights = rights;
  return &flow;
}

void Service::link_has_gone(ServiceFlow& flow) {
  flow.link = nullptr;
  left_.emplace_back(flow.name, now_ns());
  forget_old_ones();
}

void Service::leave(ServiceFlow& flow) {
  flow.link->flows.erase(flow.alias);
  erase(flow.name);
}

void Service::erase(ServiceFlow::Name name) {
  const auto flow = flows_.find(name);
  host_.forget(*flow->second);
  flows_.erase(flow);
}

void Service::forget_old_ones() {
  const std::int64_t before = now_ns() - kKeptNs;
  while (!left_.empty() && (left_.size() > kKeptMax || left_.front().second < before)) {
    erase(left_.front().first);
    left_.pop_front();
  }
}

// ---------------------------------------------------------------- frames

void Service::frame_arrived(ServiceFlow& flow, const Header& header, Bytes frame) {
  if (header.type == FrameType::kData) return take(flow, header, frame);
  if (!is_bare(frame)) return flow.link->refuse();
  if (header.type == FrameType::kFlowEnd) return leave(flow);
  if (header.type != FrameType::kPing) return flow.link->refuse();
  std::array<std::uint8_t, kHeaderBytes + 4> room;
  if ((flow.rights & EXS_SVC_STATS) == 0)
    return flow.link->send(encode_nack(room, flow.alias, 0, Refusal::kNotAllowed));
  flow.link->send(encode_bare(room, {.type = FrameType::kPong, .flow = flow.alias, .number = header.number}));
}

void Service::take(ServiceFlow& flow, const Header& header, Bytes frame) {
  const std::optional<Items> items = decode_data(frame, header);
  const Incoming::Place place = flow.incoming.place_of(header.number);
  if (!items || place == Incoming::Place::kBeyond) return flow.link->refuse();
  if (place == Incoming::Place::kTakenBefore) return host_.note(flow);
  const bool is_allowed = (flow.rights & EXS_SVC_SEND) != 0;
  const bool has_room = mailbox_->load(std::memory_order_relaxed) < config_.mailbox_max;
  exs_svc_message_t* const message =
      is_allowed && has_room ? make_message(flow.from, *items, mailbox_) : nullptr;
  if (message == nullptr) {
    flow.incoming.take();
    flow.incoming.tell();
    std::array<std::uint8_t, kHeaderBytes + 4> room;
    const Refusal why = is_allowed ? Refusal::kMailboxFull : Refusal::kNotAllowed;
    return flow.link->send(encode_nack(room, flow.alias, header.number, why));
  }
  std::unique_ptr<exs_svc_message_t, decltype(&free_message)> owned(message, free_message);
  exs_svc_event_t event{};
  event.type = EXS_SVC_EVT_MESSAGE;
  event.handle = config_.handle;
  event.service = static_cast<exs_svc*>(this);
  event.message = message;
  host_.tell(event);
  static_cast<void>(owned.release());
  flow.incoming.take();
  host_.note(flow);
}

void Service::acknowledge(ServiceFlow& flow) {
  if (flow.link == nullptr) return;
  flow.incoming.tell();
  std::array<std::uint8_t, kHeaderBytes> room;
  flow.link->send(
      encode_bare(room, {.type = FrameType::kAck, .flow = flow.alias, .ack = flow.incoming.accepted()}));
}

}  // namespace exs::svc
