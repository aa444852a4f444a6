// Requests of a peer: the fate of their messages, their replies, and how they end.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>

#include "base/check.h"
#include "service/node/peer.h"

namespace exs::svc {

// ---------------------------------------------------------------- the program

Status Peer::request(Data data, Asked asked) {
  if (sending_.is_full() || requests_.size() >= Outgoing::kMost) return Status(EAGAIN);
  if (spare_requests_.empty()) spare_requests_.emplace_back();
  data.kind = kIsRequest;
  data.call = ++calls_;
  if (const Status lent = lend_slots(asked.returns, data.returns); !lent.ok()) return lent;
  const std::optional<Slot> slot = sending_.add(data, std::move(asked.longs), nullptr);
  if (!slot) {
    let_go_of_slots(asked.returns);
    return Status(ENOMEM);
  }
  Request& request = spare_requests_.front();
  request = {};
  request.call = data.call;
  request.handle = asked.handle;
  request.is_idempotent = asked.is_idempotent;
  request.limit_ns = asked.limit_ns;
  request.returns = std::move(asked.returns);
  request.slot = slot;
  requests_.splice(requests_.end(), spare_requests_, spare_requests_.begin());
  if (asked.limit_ns != kNeverNs) host_.wake_at(asked.limit_ns);
  begin_in_time();
  return {};
}

Status Peer::cancel(const void* handle) {
  const auto found = std::find_if(requests_.begin(), requests_.end(), [handle](const Request& request) {
    return request.handle == handle && request.error == 0;
  });
  if (found == requests_.end()) return Status(ENOENT);
  end_with(*found, ECANCELED);
  return {};
}

// Most replies come in the order of the requests, so a linear search usually ends at the first.
std::list<Peer::Request>::iterator Peer::place_of(std::uint64_t call) {
  return std::find_if(requests_.begin(), requests_.end(),
                      [call](const Request& request) { return request.call == call; });
}

Peer::Request* Peer::find_request(std::uint64_t call) {
  const auto found = place_of(call);
  return found != requests_.end() ? &*found : nullptr;
}

// ---------------------------------------------------------------- its message

void Peer::request_ended(Request& request, Slot slot, Fate fate) {
  const int refused = memory().kept(slot).error;
  if (request.error != 0) return finish(request.call, request.error);
  if (fate == Fate::kTaken && refused == 0) {
    request.is_taken = true;
    if (request.last_reply.type != 0) return finish(request.call, request.last_reply);
    if (request.is_idempotent) return;  // its frame may have to be sent again
    request.slot.reset();
    return memory().give_back(slot);
  }
  if (fate == Fate::kTaken) return finish(request.call, refused);
  if (request.is_idempotent && loss_ == 0) {
    request.is_sent_again = true;
    return;
  }
  finish(request.call, fate == Fate::kLost || request.is_idempotent ? loss_ : EOWNERDEAD);
}

// The service has a new instance, which does not know earlier requests.
void Peer::send_requests_again() {
  std::vector<std::uint64_t> ended;
  std::vector<Slot> again;
  for (Request& request : requests_) {
    if (request.is_taken && !request.is_idempotent) ended.push_back(request.call);
    if (!request.is_idempotent || !(request.is_taken || request.is_sent_again)) continue;
    Kept& kept = memory().kept(*request.slot);
    kept.fate.reset();
    request.is_taken = request.is_sent_again = false;
    request.returns_used = request.returns_kept = 0;
    again.push_back(*request.slot);
  }
  for (const std::uint64_t call : ended) finish(call, EOWNERDEAD);
  sending_.add_before(again);
}

// ---------------------------------------------------------------- its replies

bool Peer::begin(const Data& data, Arrival& arrival, Receiving::Destination& place) {
  if ((data.kind & kIsReply) == 0) return false;
  Request* const request = find_request(data.call);
  if (request == nullptr || request->error != 0) return true;
  // An answered message must have been accepted.
  if (!request->is_taken && !(request->slot && memory().kept(*request->slot).fate)) return false;
  if (data.lane_count.value_or(0) > 0 && !are_written(*request, data.longs)) return false;
  std::vector<exs_svc_item_t> longs;
  std::shared_ptr<Windows> windows;
  if (!place_longs(*request, data.longs, place, longs, windows)) {
    arrival.why = Refusal::kNoRoom;
    return true;
  }
  if (windows == nullptr) arrival.returns = longs.size();
  arrival.message.reset(make_message({config_.target, &data.items, longs, windows, {}, {}, 0}));
  if (arrival.message == nullptr) throw std::bad_alloc();
  place.keeps = std::move(windows);
  return true;
}

// Places long items into the request's memory, or into windows if it names none. Returns false if there is no room.
bool Peer::place_longs(Request& request, const LongLengths& longs, Receiving::Destination& place,
                       std::vector<exs_svc_item_t>& items, std::shared_ptr<Windows>& windows) {
  if (longs.count == 0) return true;
  const std::span<const std::uint64_t> lengths = std::span(longs.bytes).first(longs.count);
  std::vector<exs_iovec_t> rooms;
  if (!request.returns.empty()) {
    if (longs.count > request.returns.size() - request.returns_used) return false;
    const auto first = request.returns.begin() + static_cast<std::ptrdiff_t>(request.returns_used);
    rooms.assign(first, first + static_cast<std::ptrdiff_t>(longs.count));
  } else {
    windows = host_.windows().take(lengths);
    if (windows == nullptr) return false;
    for (const Window& window : windows->list)
      rooms.push_back({window.start, window.bytes, window.region, 0});
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] > rooms[i].iov_len) return false;
    rooms[i].iov_len = static_cast<std::size_t>(lengths[i]);
    items.push_back({rooms[i].iov_base, rooms[i].iov_len});
  }
  place.pieces = std::move(rooms);
  if (!request.returns.empty()) {
    request.returns_used += longs.count;
    ++request.arriving;
  }
  return true;
}

void Peer::arrived(Arrival& arrival) {
  host_.pending_acks().add_deferred(*this);
  Request* const request = find_request(arrival.call);
  if (request == nullptr) return;
  if (arrival.returns > 0) {
    EXS_CHECK(request->arriving > 0);
    --request->arriving;
  }
  request->returns_kept += arrival.returns;
  if (request->error != 0) return end_with(*request, request->error);
  const bool is_unanswered = (arrival.kind & kUnanswered) != 0;
  const bool has_moved = is_unanswered && arrival.status == kUnansweredAtMove;
  if (has_moved && request->is_idempotent && request->is_taken) return ask_again(*request);
  exs_svc_event_t event = event_of(*request);
  event.status = is_unanswered ? 0 : arrival.status;
  event.error = has_moved ? EOWNERDEAD : is_unanswered ? ECANCELED : arrival.why ? ENOBUFS : 0;
  const bool has_more = (arrival.kind & kMoreFollow) != 0;
  if (has_more && event.error != 0) return end_with(*request, event.error);
  if (event.error == 0) event.message = arrival.message.get();
  if (has_more) {
    event.flags = EXS_SVC_MORE;
    host_.report(event);
  } else if (request->is_taken) {
    finish(arrival.call, event);
  } else {  // the request's own long items may still be moving
    request->last_reply = event;
  }
  if (event.error == 0) static_cast<void>(arrival.message.release());
}

// Sends the request to the service at its new place.
void Peer::ask_again(Request& request) {
  memory().kept(*request.slot).fate.reset();
  request.is_taken = false;
  request.returns_used = request.returns_kept = 0;
  sending_.add_again(*request.slot);
  send_all();
}

// ---------------------------------------------------------------- its end

exs_svc_event_t Peer::event_of(const Request& request) const {
  exs_svc_event_t event{};
  event.type = EXS_SVC_EVT_REPLY;
  event.handle = request.handle;
  event.peer = static_cast<exs_svc_peer*>(const_cast<Peer*>(this));
  return event;
}

void Peer::finish(std::uint64_t call, exs_svc_event_t event) {
  const auto request = place_of(call);
  EXS_CHECK(request != requests_.end());
  if (request->last_reply.type != 0 && request->last_reply.message != event.message)
    discard(request->last_reply);
  if (!is_closed_) host_.report(event);
  if (request->slot) memory().give_back(*request->slot);
  let_go_of_slots(request->returns);
  spare_requests_.splice(spare_requests_.begin(), requests_, request);
  if (is_closed_) discard(event);
}

void Peer::finish(std::uint64_t call, int error) {
  exs_svc_event_t event = event_of(*place_of(call));
  event.error = error;
  finish(call, event);
}

// Ends an unanswered request. It ends at once, unless exs uses its memory; then it ends when the link has gone.
void Peer::end_with(Request& request, int error) {
  request.limit_ns = kNeverNs;
  const bool is_kept = request.slot && !request.is_taken && !request.is_sent_again;
  if (is_kept && sending_.remove(*request.slot)) return finish(request.call, error);
  const bool is_moving = is_kept && memory().kept(*request.slot).is_moving;
  const bool is_written = has_slots(request) && lane_ != nullptr && !is_closed_;
  if (is_moving || request.arriving > 0 || is_written) {
    request.error = error;
    return link_->end();
  }
  send_cancel(request);
  if (is_kept) {  // its frame has left, perhaps on a broken link; message_ended() will not find the request
    sending_.make_void_if_waiting(*request.slot);
    request.slot.reset();
  }
  finish(request.call, error);
}

void Peer::send_cancel(const Request& request) {
  if (link_ == nullptr || state_ != State::kOpen) return;
  std::array<std::uint8_t, kHeaderBytes> room;
  link_->send(encode_bare(room, {.type = FrameType::kCancel, .flow = alias_, .number = request.call}));
}

void Peer::end_late_requests(std::uint64_t now_ns) {
  for (bool found = true; found;) {
    const auto late = std::find_if(requests_.begin(), requests_.end(),
                                   [now_ns](const Request& request) { return request.limit_ns <= now_ns; });
    found = late != requests_.end();
    if (found) end_with(*late, ETIMEDOUT);
  }
}

// Exs has released all memory, and incomplete replies will come again.
void Peer::end_waiting_requests() {
  for (bool found = true; found;) {
    for (Request& request : requests_) {
      request.arriving = 0;
      request.returns_used = request.returns_kept;
    }
    const auto waiting = std::find_if(requests_.begin(), requests_.end(),
                                      [](const Request& request) { return request.error != 0; });
    found = waiting != requests_.end();
    if (found) end_with(*waiting, waiting->error);
  }
}

// A request that has ended here must not be sent again.
void Peer::void_requests_of_nobody() {
  sending_.make_void([this](const Kept& kept) {
    return (kept.kind & kIsRequest) != 0 && find_request(kept.call) == nullptr;
  });
}

// No service is left to answer them.
void Peer::end_all_requests(int error) {
  while (!requests_.empty()) {
    const Request& request = requests_.front();
    finish(request.call, request.is_idempotent ? error : EOWNERDEAD);
  }
  loss_ = 0;
}

// The program has closed the peer and gets no events of them.
void Peer::drop_requests() {
  for (bool found = true; found;) {
    const auto next = std::find_if(requests_.begin(), requests_.end(),
                                   [](const Request& request) { return request.error == 0; });
    found = next != requests_.end();
    if (found) end_with(*next, ECANCELED);
  }
}

}  // namespace exs::svc
