// Links of strangers: clients of a rendezvous that have not shown their token yet.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/clock.h"
#include "base/random.h"
#include "rpc/channel/close_socket.h"
#include "rpc/sunrpc/hub.h"
#include "rpc/sunrpc/settings.h"

namespace exs::rpc {
namespace {

constexpr std::uint64_t kHelloNs = 5'000'000'000;
constexpr std::size_t kStrangersMax = 256;
constexpr int kSlotsOfLink = 96;

}  // namespace

bool Hub::add_token(ServerTransport& transport, std::array<char, kTokenBytes>& bytes) {
  if (!fill_randomly(std::as_writable_bytes(std::span(bytes))).ok()) return false;
  const std::uint64_t now = monotonic_ns();
  const auto is_over = [&](const LinkToken& token) {
    return token.transport == &transport || token.end_ns < now;
  };
  tokens_.erase(std::remove_if(tokens_.begin(), tokens_.end(), is_over), tokens_.end());
  tokens_.push_back({bytes, &transport, now + kHelloNs});
  return true;
}

ServerTransport* Hub::take_token(std::span<const std::byte> bytes) {
  const auto is_it = [&](const LinkToken& token) {
    return bytes.size() == token.bytes.size() &&
           std::memcmp(bytes.data(), token.bytes.data(), bytes.size()) == 0;
  };
  const auto found = std::find_if(tokens_.begin(), tokens_.end(), is_it);
  if (found == tokens_.end()) return nullptr;
  const LinkToken token = *found;
  tokens_.erase(found);
  return token.end_ns >= monotonic_ns() ? token.transport : nullptr;
}

void Hub::take_event_of_stranger(LinkPlace& place, const exs_event_t& event) {
  switch (place.stranger->take_event(event)) {
    case MessageLink::News::kNothing: break;
    case MessageLink::News::kEnd: end_stranger(place); break;
    case MessageLink::News::kMessage: greet(place);
  }
}

// Returns the index of a free place; kNoPlace: memory ran out.
std::size_t Hub::free_place() try {
  std::size_t index = 0;
  while (index < places_.size() && (places_[index].stranger || places_[index].transport != nullptr)) ++index;
  if (index == places_.size()) places_.emplace_back();
  return index;
} catch (const std::bad_alloc&) {
  return kNoPlace;
}

// Without memory for it, the connection ends, and its client calls by TCP.
void Hub::accept_link(int socket) {
  const std::size_t index = free_place();
  std::unique_ptr<MessageLink> link;
  if (index != kNoPlace) link.reset(new (std::nothrow) MessageLink(socket, queue_, handle_of(index)));
  if (link == nullptr) return close_at_once(socket);
  deepen_queues();
  LinkPlace& place = places_[index];
  place.stranger = std::move(link);
  if (settings().is_reduced) place.stranger->use_plain_memory();
  place.end_ns = monotonic_ns() + kHelloNs;
  ++strangers_;
  if (strangers_ > kStrangersMax || !place.stranger->start_receiving(kLongestCall).ok()) end_stranger(place);
}

// A queue needs a slot for every event that the links can cause.
void Hub::deepen_queues() {
  const int depth = kFirstDepth + static_cast<int>(places_.size()) * kSlotsOfLink;
  if (depth <= depth_) return;
  const int deeper = std::min(depth * 2, EXS_QDEPTH_MAX);
  if (exs_qmodify(queue_, EXS_QATTR_DEPTH, &deeper, sizeof deeper) == 0) depth_ = deeper;
  for (const auto& worker : workers_) exs_qmodify(worker->queue, EXS_QATTR_DEPTH, &deeper, sizeof deeper);
}

// The first message of a stranger has arrived.
void Hub::greet(LinkPlace& place) {
  MessageLink& link = *place.stranger;
  ServerTransport* const transport = link.type() == FrameType::kHello ? take_token(link.received()) : nullptr;
  if (transport == nullptr || transport->link() != nullptr || !link.send_frame(FrameType::kWelcome, {}).ok())
    return end_stranger(place);
  place.worker = idlest_worker();
  HubWorker* const worker = place.worker == kNoWorker ? nullptr : workers_[place.worker].get();
  if (worker != nullptr)
    link.use_queue(worker->queue, handle_of(static_cast<std::size_t>(&place - places_.data())));
  if (!link.receive_next().ok()) return end_stranger(place);
  EXS_CHECK(strangers_ > 0);
  --strangers_;
  place.transport = transport->shared_from_this();
  transport->take_link(std::move(place.stranger), worker != nullptr ? worker->reply : reply_);
}

void Hub::end_stranger(LinkPlace& place) {
  EXS_CHECK(strangers_ > 0 && place.stranger != nullptr && place.transport == nullptr);
  place.stranger.reset();
  --strangers_;
  ++place.generation;
}

void Hub::drop_late_strangers() {
  const HubTurn turn(*this);
  if (strangers_ == 0) return;
  const std::uint64_t now = monotonic_ns();
  for (LinkPlace& place : places_)
    if (place.stranger && place.end_ns < now) end_stranger(place);
}

}  // namespace exs::rpc
