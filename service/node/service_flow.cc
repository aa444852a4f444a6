// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/service_flow.h"

#include <algorithm>
#include <cerrno>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/contain.h"
#include "base/room.h"
#include "service/node/service.h"

namespace exs::svc {
namespace {

// The instance of a sender's end, which never changes.
constexpr std::uint64_t kOnlyLife = 1;
constexpr std::uint64_t kRoomAgainNs = 20 * kNsPerMs;  // pause while the link has no room

}  // namespace

ServiceFlow::ServiceFlow(Service& service, FlowName name, const IdBytes& from, std::shared_ptr<Share> share)
    : service_(service), name_(name), from_(from), share_(std::move(share)), not_kept_{{name, 0}} {
  service_.host().pending_acks().enroll();
}

ServiceFlow::~ServiceFlow() {
  service_.host().pending_acks().forget(*this);
  if (lane_ != nullptr) lane_->forget_lane_client();
  sending_.give_up();
}

void ServiceFlow::keep_in(FlowsKept& list, std::uint64_t now) noexcept {
  EXS_CHECK(!is_kept());
  entry_->second = now;
  list.splice(list.end(), not_kept_);
}

void ServiceFlow::take_from(FlowsKept& list) noexcept {
  EXS_CHECK(is_kept());
  not_kept_.splice(not_kept_.begin(), list, entry_);
}

bool ServiceFlow::open(Link& link, std::uint32_t alias, std::uint32_t rights, std::uint64_t taken) {
  if (sending_.open(link, alias, kOnlyLife, taken, true) == Outgoing::Opening::kProtocolError) return false;
  EXS_CHECK(link_ == nullptr);
  link_ = &link;
  alias_ = alias;
  rights_ = rights;
  return true;
}

void ServiceFlow::close() {
  link_ = nullptr;
  if (lane_ != nullptr) std::exchange(lane_, nullptr)->forget_lane_client();
  has_had_lane_ = false;
  sending_.close();
  receiving_.leave();
  for (Call& call : calls_) call.slots.clear();
}

FrameMemory& ServiceFlow::memory() {
  return service_.host().memory();
}

std::uint64_t ServiceFlow::accepted() {
  receiving_.note_acknowledged();
  return receiving_.accepted();
}

void ServiceFlow::acknowledge() {
  if (link_ == nullptr || !receiving_.owes_ack()) return;
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kAck, .flow = alias_, .ack = accepted()}));
}

// ---------------------------------------------------------------- frames

void ServiceFlow::frame_arrived(const Header& header, Bytes frame) {
  if (header.type == FrameType::kData) {
    if (!sending_.accept(header.ack)) return link_->refuse();
    if (service_.is_frozen()) {
      if (!receiving_.skip(*link_, header, frame)) link_->refuse();
      return;
    }
    const Receiving::Result result = receiving_.take(*link_, header, frame);
    if (result == Receiving::Result::kProtocolError) return link_->refuse();
    if (result == Receiving::Result::kAgain) service_.host().pending_acks().add(*this);
    return;
  }
  if (!is_bare(frame)) return link_->refuse();
  if (header.type == FrameType::kAck) {
    if (!sending_.accept(header.ack)) link_->refuse();
    return;
  }
  if (header.type == FrameType::kFlowEnd) return service_.leave(*this);
  if (header.type == FrameType::kCancel) return cancel(header.number);
  if (header.type != FrameType::kPing && header.type != FrameType::kInfo) return link_->refuse();
  asked_how_it_is(header);
}

void ServiceFlow::asked_how_it_is(const Header& header) {
  std::array<std::uint8_t, kStatsBytes> room;
  if ((rights_ & EXS_SVC_STATS) == 0) return link_->send(encode_nack(room, alias_, 0, Refusal::kNotAllowed));
  if (header.type == FrameType::kInfo)
    return link_->send(encode_stats(room, alias_, header.number, service_.stats()));
  link_->send(encode_bare(room, {.type = FrameType::kPong, .flow = alias_, .number = header.number}));
}

// Returns the reason to refuse the message, or nothing if it may be accepted and memory suffices.
std::optional<Refusal> ServiceFlow::why_not(const Data& data) const {
  const bool is_request = (data.kind & kIsRequest) != 0;
  const std::uint32_t needed =
      (is_request ? EXS_SVC_REQUEST : EXS_SVC_SEND) | (data.longs.count > 0 ? EXS_SVC_LONG : 0U);
  if ((rights_ & needed) != needed) return Refusal::kNotAllowed;
  if (!service_.has_room(*share_)) return Refusal::kNoRoom;
  if (is_request && calls_.size() + sending_.count() >= Outgoing::kMost) return Refusal::kNoRoom;
  return {};
}

bool ServiceFlow::begin(const Data& data, Arrival& arrival, Receiving::Destination& place) {
  if ((data.kind & kIsVoid) != 0) return true;
  const bool is_request = (data.kind & kIsRequest) != 0;
  if ((data.kind & kIsReply) != 0 || (is_request && has_call(data.call))) return false;
  arrival.why = why_not(data);
  if (arrival.why) return true;
  MessageParts parts;
  parts.from = from_;
  parts.items = &data.items;
  parts.share = share_;
  std::vector<exs_svc_item_t> longs;
  if (data.longs.count > 0) {
    const auto lengths = std::span<const std::uint64_t>(data.longs.bytes).first(data.longs.count);
    parts.windows = service_.windows().take(lengths, service_.quota_of(share_));
    if (parts.windows == nullptr) {
      arrival.why = Refusal::kNoRoom;
      return true;
    }
    for (std::size_t i = 0; i < lengths.size(); ++i) {
      const Window& window = parts.windows->list[i];
      longs.push_back({window.start, static_cast<std::size_t>(lengths[i])});
      place.pieces.push_back({window.start, static_cast<std::size_t>(lengths[i]), window.region, 0});
    }
    place.keeps = parts.windows;
    parts.longs = longs;
  }
  if (is_request) {
    if ((rights_ & EXS_SVC_RETURN) != 0) arrival.slots = data.returns;
    parts.call = CallName{name_, data.call};
    parts.limit_ns = static_cast<std::int64_t>(data.limit_ms * kNsPerMs);
  }
  arrival.message.reset(make_message(std::move(parts)));
  if (arrival.message != nullptr) return true;
  place = {};
  arrival.why = Refusal::kNoRoom;
  return true;
}

void ServiceFlow::arrived(Arrival& arrival) {
  if (arrival.why) return refuse(arrival);
  if (arrival.message == nullptr) return service_.host().pending_acks().add(*this);
  const bool is_request = (arrival.kind & kIsRequest) != 0;
  if (is_request) make_room(calls_, calls_.size() + 1);
  exs_svc_event_t event{};
  event.type = is_request ? EXS_SVC_EVT_REQUEST : EXS_SVC_EVT_MESSAGE;
  event.handle = service_.handle();
  event.service = static_cast<exs_svc*>(&service_);
  event.message = arrival.message.get();
  service_.host().report(event);
  static_cast<void>(arrival.message.release());
  service_.count_message();
  if (is_request) calls_.push_back({arrival.call, std::move(arrival.slots), 0});
  if (is_request) return service_.host().pending_acks().add_deferred(*this);
  service_.host().pending_acks().add(*this);
}

void ServiceFlow::refuse(const Arrival& arrival) {
  if (link_ == nullptr) return;
  receiving_.note_acknowledged();
  std::array<std::uint8_t, kHeaderBytes + 4> room;
  link_->send(encode_nack(room, alias_, arrival.number, *arrival.why));
}

// ---------------------------------------------------------------- replies

std::vector<ServiceFlow::Call>::iterator ServiceFlow::find_call(std::uint64_t number) {
  return std::find_if(calls_.begin(), calls_.end(),
                      [number](const Call& call) { return call.number == number; });
}

bool ServiceFlow::has_call(std::uint64_t number) const {
  return std::any_of(calls_.begin(), calls_.end(),
                     [number](const Call& call) { return call.number == number; });
}

Status ServiceFlow::reply(Data& data, Transfer::Pieces longs, void* handle) {
  const bool is_last = (data.kind & kMoreFollow) == 0;
  if (!is_last && calls_.size() + sending_.count() >= Outgoing::kMost) return Status(EAGAIN);
  const auto call = find_call(data.call);
  EXS_CHECK(call != calls_.end());  // the service has found it
  std::vector<std::uint32_t> places = places_of(*call, data.longs);
  if (!places.empty()) data.lane_count = 0;
  if (!sending_.add(data, std::move(longs), handle, std::move(places))) return Status(ENOMEM);
  call->slots_used += data.longs.count;
  if (is_last) calls_.erase(call);
  if (is_last && (data.kind & kUnanswered) == 0) service_.count_reply();
  // The reply is accepted. Without memory to send it now, it leaves on the sender's next link.
  contain([this] { send_all(); }, [this] { link_->end(ENOMEM); });
  return {};
}

void ServiceFlow::send_all() {
  if (link_ != nullptr && !sending_.send_all())
    service_.host().wake_at(time_after(boottime_ns(), kRoomAgainNs));
}

void ServiceFlow::message_ended(Sending::Slot slot, Fate fate) {
  const Kept& kept = memory().kept(slot);
  if (!kept.longs.empty()) report_sent(kept, fate == Fate::kTaken ? 0 : ECONNRESET);
  memory().give_back(slot);
}

void ServiceFlow::make_room_for_ends(std::size_t messages) {
  service_.host().make_room_for_events(messages);
}

void ServiceFlow::report_sent(const Kept& kept, int error) {
  exs_svc_event_t event{};
  event.type = EXS_SVC_EVT_SENT;
  event.error = error;
  event.handle = kept.handle;
  event.service = static_cast<exs_svc*>(&service_);
  service_.host().report(event);
}

// Returns nothing if the items do not all fit, or if there is nothing to write.
std::vector<std::uint32_t> ServiceFlow::places_of(Call& call, const LongLengths& longs) {
  const std::size_t left = call.slots.size() - std::min(call.slots_used, call.slots.size());
  if (longs.count > left) return {};
  std::vector<std::uint32_t> places(longs.count);
  bool is_empty = true;
  for (std::size_t i = 0; i < longs.count; ++i) {
    const ReturnSlot& slot = call.slots[call.slots_used + i];
    if (longs.bytes[i] > slot.bytes) return {};
    if (longs.bytes[i] > 0) is_empty = false;
    places[i] = slot.offset;
  }
  return is_empty ? std::vector<std::uint32_t>() : places;
}

void ServiceFlow::cancel(std::uint64_t number) {
  const auto call = find_call(number);
  if (call == calls_.end()) return;
  calls_.erase(call);
  service_.host().take_back({name_, number});
}

// ---------------------------------------------------------------- the lane

bool ServiceFlow::takes_lane() const noexcept {
  return !has_had_lane_ && (rights_ & EXS_SVC_RETURN) != 0;
}

void ServiceFlow::take_lane(Link& connection) {
  connection.become_lane_of(*link_, alias_, *this);
  lane_ = &connection;
  has_had_lane_ = true;
  sending_.use_lane(lane_);
}

void ServiceFlow::end_lane() {
  if (lane_ != nullptr) lane_->end();
}

// A sender that waits for a missing write breaks the link.
void ServiceFlow::lane_has_gone() {
  lane_ = nullptr;
  sending_.use_lane(nullptr);
}

// ---------------------------------------------------------------- moves

MovedFlow ServiceFlow::moved() const {
  MovedFlow flow;
  flow.client = name_.first;
  flow.flow_number = name_.second;
  flow.from = from_;
  flow.accepted = receiving_.accepted();
  for (const Call& call : calls_) flow.calls.push_back(call.number);
  flow.first_reply = sending_.first();
  flow.replies = sending_.frames();
  return flow;
}

bool ServiceFlow::resume(const MovedFlow& flow) {
  receiving_.resume(flow.accepted);
  for (const std::uint64_t number : flow.calls) calls_.push_back({number, {}, 0});
  return sending_.resume(kOnlyLife, flow.first_reply, flow.replies);
}

void ServiceFlow::cut_short(const std::vector<std::uint64_t>& waiting) {
  Data nothing;
  nothing.kind = kIsReply | kUnanswered;
  nothing.status = kUnansweredAtMove;
  for (const std::uint64_t call : moved().calls) {
    if (std::find(waiting.begin(), waiting.end(), call) != waiting.end()) continue;
    nothing.call = call;
    if (!reply(nothing, {}, nullptr).ok()) return;  // memory may suffice the next time
  }
  // Frames must not change before the link is gone.
  if (link_ != nullptr && sending_.has_longs()) return link_->end();
  const auto instead = [&nothing](const Kept& kept) {
    nothing.call = kept.call;
    return nothing;
  };
  sending_.replace_longs(instead, [this](const Kept& kept) { report_sent(kept, ECONNRESET); });
}

}  // namespace exs::svc
