// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/adopter.h"

#include <cerrno>
#include <new>
#include <utility>

#include "base/contain.h"

namespace exs::svc {

Adopter::Adopter(AdopterHost& node, ServiceHost& host, exs_svc& service, Service::Config endpoint)
    : node_(node),
      host_(host),
      service_(&service),
      endpoint_(static_cast<ServiceHost&>(*this), std::move(endpoint)) {}

Adopter::~Adopter() {
  forget_prepared();
  for (const exs_svc_event_t& event : told_) discard(event);
}

void Adopter::go_on() {
  std::erase_if(answers_, [this](const Answer& answer) { return say(answer); });
  while (!told_.empty()) {
    const exs_svc_event_t event = told_.front();
    told_.erase(told_.begin());
    const OwnedMessage message(const_cast<exs_svc_message_t*>(event.message));
    if (event.type == EXS_SVC_EVT_REQUEST) take(*message);
  }
}

void Adopter::take(const exs_svc_message_t& request) {
  std::optional<HandoverHead> head;
  if (request.items_count == 1 && !is_done())
    head = decode_handover_head(
        {static_cast<const std::uint8_t*>(request.items[0].data), request.items[0].length});
  answers_.push_back({*call_of(&request), HandoverStatus::kNotUnderstood, {}});
  Answer& answer = answers_.back();
  if (head && head->step == HandoverStep::kPrepare) {
    answer.status = prepare(*head, request);
  } else if (head) {
    contain([&] { answer.status = commit(*head, answer.record); },
            [&] { answer.status = HandoverStatus::kNoMemory; });
  }
  if (say(answer)) answers_.pop_back();
}

// Returns false if memory ran out; the answer has to be sent later.
bool Adopter::say(const Answer& answer) {
  Data data;
  data.kind = kIsReply;
  data.status = static_cast<std::int32_t>(answer.status);
  data.call = answer.to.call;
  data.items.item[0] = answer.record;
  data.items.count = answer.record.empty() ? 0 : 1;
  return endpoint_.reply(answer.to, data, {}, nullptr).error() != ENOMEM;
}

HandoverStatus Adopter::prepare(const HandoverHead& head, const exs_svc_message_t& request) {
  forget_prepared();
  if (request.longs_count == 0) return HandoverStatus::kNotUnderstood;
  try {
    const exs_svc_item_t& first = request.longs[0];
    const auto handover = decode_handover({static_cast<const std::uint8_t*>(first.data), first.length});
    if (!handover) return HandoverStatus::kNotUnderstood;
    prepared_.emplace(Prepared{});
    prepared_->token = head.token;
    const std::shared_ptr<Windows>& keeps = windows_of(&request);
    MessageParts state;
    const Items no_items;
    state.items = &no_items;
    state.longs = std::span(request.longs, request.longs_count).subspan(1);
    state.windows = keeps;
    prepared_->state.reset(make_message(std::move(state)));
    if (prepared_->state != nullptr && service_->resume(head, *handover, keeps, prepared_->events))
      return HandoverStatus::kDone;
  } catch (const std::bad_alloc&) {
  }
  forget_prepared();
  return HandoverStatus::kNoMemory;
}

void Adopter::forget_prepared() {
  if (!prepared_) return;
  for (const exs_svc_event_t& event : prepared_->events) discard(event);
  prepared_.reset();
  if (service_ != nullptr) service_->forget_all();
}

HandoverStatus Adopter::commit(const HandoverHead& head, std::vector<std::uint8_t>& record) {
  if (!prepared_ || prepared_->token != head.token) return HandoverStatus::kUnprepared;
  host_.make_room_for_events(1 + prepared_->events.size());
  Result<std::vector<std::uint8_t>> taken = node_.take_over(*service_);
  if (!taken)
    return taken.error().error() == EADDRINUSE ? HandoverStatus::kNameTaken : HandoverStatus::kNoMemory;
  record = std::move(*taken);
  exs_svc* const service = std::exchange(service_, nullptr);
  exs_svc_event_t event{};
  event.type = EXS_SVC_EVT_ADOPTED;
  event.handle = service->handle();
  event.service = service;
  event.message = prepared_->state.release();
  host_.report(event);
  for (const exs_svc_event_t& waiting : prepared_->events) host_.report(waiting);
  prepared_.reset();
  return HandoverStatus::kDone;
}

}  // namespace exs::svc
