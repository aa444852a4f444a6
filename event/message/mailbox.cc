// SPDX-License-Identifier: BSD-2-Clause
#include "event/message/mailbox.h"

#include <utility>

namespace exs {

Mailbox::~Mailbox() = default;

Request* Mailbox::take_receive(const match::Envelope& envelope) noexcept {
  auto* const request = static_cast<Request*>(receives_.take_matching(envelope));
  if (request != nullptr) request->waiting = match::kNone;
  return request;
}

void Mailbox::add_receive(Request& request, const match::Criteria& criteria) {
  request.waiting = receives_.add(criteria, &request);
}

void Mailbox::remove_receive(Request& request) noexcept {
  receives_.remove(std::exchange(request.waiting, match::kNone));
}

std::optional<proto::Wish> Mailbox::wanted_of(std::uint32_t source) const noexcept {
  std::optional<proto::Wish> all;
  receives_.visit([&](const match::Criteria& criteria) {
    if (criteria.source != match::kAnySource && criteria.source != source) return;
    const proto::Wish one{criteria.bits, criteria.ignore};
    if (!all) all = one;
    all->include(one);
  });
  return all;
}

void Mailbox::keep(std::unique_ptr<Kept> message) {
  if (kept_.size() == kept_.capacity()) kept_.reserve(2 * kept_.size() + 16);
  message->number = messages_.add(message->envelope(), message.get());
  message->place = kept_.size();
  if (message->bytes) bytes_ += message->arrival.length_bytes;
  kept_.push_back(std::move(message));
}

Kept* Mailbox::find(const match::Criteria& criteria) {
  const std::uint32_t number = messages_.find(criteria);
  return number == match::kNone ? nullptr : static_cast<Kept*>(messages_.user(number));
}

std::unique_ptr<Kept> Mailbox::erase(Kept& message) noexcept {
  if (message.bytes) bytes_ -= message.arrival.length_bytes;
  const std::size_t place = message.place;
  auto erased = std::exchange(kept_[place], nullptr);
  if (place + 1 < kept_.size()) {
    kept_[place] = std::move(kept_.back());
    kept_[place]->place = place;
  }
  kept_.pop_back();
  return erased;
}

std::unique_ptr<Kept> Mailbox::remove(Kept& message) noexcept {
  if (message.number != match::kNone) messages_.remove(std::exchange(message.number, match::kNone));
  if (message.taken != 0) apart_.erase(message.taken);
  return erase(message);
}

exm_message_t Mailbox::set_apart(Kept& message) {
  apart_.emplace(last_apart_ + 1, &message);
  message.taken = ++last_apart_;
  messages_.remove(std::exchange(message.number, match::kNone));
  return message.taken;
}

Kept* Mailbox::find_apart(exm_message_t number) noexcept {
  const auto found = apart_.find(number);
  return found == apart_.end() ? nullptr : found->second;
}

void Mailbox::forget_adverts(const Peer& peer) {
  std::vector<Kept*> gone;
  for (auto& message : kept_) {
    if (message->from != &peer) continue;
    message->from = nullptr;
    if (message->is_advert && message->taken == 0) gone.push_back(message.get());
  }
  for (Kept* const message : gone) remove(*message);
}

}  // namespace exs
