// SPDX-License-Identifier: BSD-2-Clause
#include "service/node/move.h"

#include <algorithm>
#include <cerrno>
#include <new>

#include "base/check.h"
#include "base/contain.h"

namespace exs::svc {
namespace {

int error_of(HandoverStatus status) {
  switch (status) {
    case HandoverStatus::kDone: return 0;
    case HandoverStatus::kNotUnderstood: return EPROTO;
    case HandoverStatus::kNoMemory: return ENOBUFS;
    case HandoverStatus::kNameTaken: return EADDRINUSE;
    case HandoverStatus::kUnprepared: return ECONNRESET;
  }
  return EPROTO;
}

}  // namespace

Move::Move(MoveHost& node, PeerHost& host, exs_svc& service, Config config)
    : node_(node),
      host_(host),
      service_(service),
      config_(std::move(config)),
      limit_time_ns_(time_after(boottime_ns(), std::max(config_.limit_ns, config_.find_ns))) {}

void Move::begin() {
  Peer::Config to;
  to.node = &service_.node();
  to.target = adoption_key(service_.key()).id();
  to.from = service_.key();
  to.client = random_number();
  to.find_ns = config_.find_ns;
  to.addresses = config_.to;
  peer_ = node_.open_peer_of(*this, std::move(to));
  static_cast<void>(peer_->ping());  // the first of this peer
  host_.wake_at(limit_time_ns_);
}

Move::~Move() {
  for (const exs_svc_event_t& event : waiting_) discard(event);
}

void Move::enter(State next) noexcept {
  EXS_CHECK(next == State::kOver || static_cast<int>(next) == static_cast<int>(state_) + 1);
  state_ = next;
}

// ---------------------------------------------------------------- the peer

std::uint64_t Move::find(const IdBytes& id, std::uint64_t limit_ns) {
  const std::uint64_t search = host_.find(id, limit_ns);
  // The adopter has given up the endpoint's name.
  if (state_ == State::kCommitting) again_ = search;
  return search;
}

Result<Link*> Move::link_to(const sockaddr_storage& address, Silences silences) {
  last_ = address;
  return host_.link_to(address, silences);
}

void Move::report(const exs_svc_event_t& event) {
  Answer answer;
  answer.error = event.error;
  const exs_svc_message_t* const message = event.message;
  const bool is_reply = event.type == EXS_SVC_EVT_REPLY;
  if (is_reply) answer.status = static_cast<HandoverStatus>(event.status);
  if (is_reply && message != nullptr && message->items_count == 1) {
    const auto* const start = static_cast<const std::uint8_t*>(message->items[0].data);
    answer.record.assign(start, start + message->items[0].length);
  }
  const bool is_found =
      state_ == State::kLooking && (event.type == EXS_SVC_EVT_PONG || event.type == EXS_SVC_EVT_LOST);
  if (is_reply || is_found) answer_ = std::move(answer);
  discard(event);
}

void Move::has_ended(Peer& peer) {
  peer_ = nullptr;
  host_.has_ended(peer);
}

// ---------------------------------------------------------------- steps

void Move::go_on() {
  if (again_) peer_->found(*std::exchange(again_, {}), {last_});
  if (state_ == State::kDraining) return drain();
  if (state_ == State::kLooking && !answer_ && boottime_ns() >= limit_time_ns_) return fail(ETIMEDOUT);
  if (!answer_) return;
  const int error = answer_->error != 0 ? answer_->error : error_of(answer_->status);
  switch (state_) {
    case State::kLooking: return error == 0 ? freeze() : fail(error);
    case State::kPreparing: return error == 0 ? commit() : fail(error == EOWNERDEAD ? ECONNRESET : error);
    // The commit had left, and the adopter cannot be asked any more.
    case State::kCommitting: return error == 0 ? finish() : error == EOWNERDEAD ? end(error) : fail(error);
    default: answer_.reset();
  }
}

void Move::freeze() {
  waiting_ = node_.take_events(service_);
  answer_.reset();
  enter(State::kDraining);
  service_.freeze();
  host_.wake_at(limit_time_ns_);
  drain();
}

void Move::drain() {
  const bool is_late = boottime_ns() >= limit_time_ns_;
  if (is_late) service_.cut_short(waiting_);
  if (service_.is_drained(waiting_, is_late)) prepare();
}

void Move::prepare() {
  enter(State::kPreparing);
  try {
    bytes_ = encode_handover(service_.moved(waiting_));
    Transfer::Pieces longs{{bytes_.data(), bytes_.size(), EXS_MHANDLE_UNREGISTERED, 0}};
    longs.insert(longs.end(), config_.state.begin(), config_.state.end());
    std::uint64_t all_bytes = 0;
    for (const exs_iovec_t& piece : longs) all_bytes += piece.iov_len;
    const std::uint64_t limit_ns = time_after(
        std::max(limit_time_ns_, time_after(boottime_ns(), config_.find_ns)), slowest_ns(all_bytes));
    if (const Status asked = ask(HandoverStep::kPrepare, std::move(longs), limit_ns); !asked.ok())
      fail(asked.error());
  } catch (const std::bad_alloc&) {
    fail(ENOMEM);
  }
}

void Move::commit() {
  enter(State::kCommitting);
  node_.give_up_name(service_);
  if (const Status asked = contained_status([&] { return ask(HandoverStep::kCommit, {}); }); !asked.ok())
    fail(asked.error());
}

Status Move::ask(HandoverStep step, Transfer::Pieces longs, std::uint64_t limit_ns) {
  answer_.reset();
  const auto head = encode_handover_head({step, token_, service_.instance(), service_.epoch()});
  Data data;
  data.items.item[0] = head;
  data.items.count = 1;
  data.longs.count = longs.size();
  for (std::size_t i = 0; i < longs.size(); ++i) data.longs.bytes[i] = longs[i].iov_len;
  Peer::Asked asked;
  asked.longs = std::move(longs);
  asked.limit_ns = limit_ns;
  return peer_->request(data, std::move(asked));
}

// ---------------------------------------------------------------- ends

void Move::finish() {
  const std::vector<std::uint8_t>& record = answer_->record;
  if (!decode_record(record, service_.id())) return end(EOWNERDEAD);
  host_.make_room_for_events(1);
  service_.leave_to(record);
  for (const exs_svc_event_t& event : std::exchange(waiting_, {})) discard(event);
  node_.has_moved(service_, record);
  end(0);
}

// The service continues here, if it can. Without memory for that, go_on() tries again.
void Move::fail(int error) {
  if (!answer_) answer_.emplace();
  answer_->error = error;
  host_.make_room_for_events(waiting_.size() + 1);
  if (state_ == State::kCommitting && !node_.take_name_again(service_).ok()) return end(EOWNERDEAD);
  if (state_ != State::kLooking) {
    service_.thaw();
    node_.give_back_events(std::exchange(waiting_, {}));
  }
  end(error);
}

void Move::end(int error) {
  host_.make_room_for_events(1);
  enter(State::kOver);
  answer_.reset();
  exs_svc_event_t event{};
  event.type = EXS_SVC_EVT_MOVED;
  event.error = error;
  event.handle = config_.handle;
  event.service = &service_;
  host_.report(event);
  peer_->close();
}

void Move::take_back(const CallName& name) {
  std::erase_if(waiting_, [&name](const exs_svc_event_t& event) {
    const std::optional<CallName>& its = call_of(event.message);
    if (!its || its->call != name.call || its->flow != name.flow) return false;
    discard(event);
    return true;
  });
}

void Move::abandon() {
  enter(State::kOver);
  if (peer_ != nullptr) peer_->close();
}

}  // namespace exs::svc
