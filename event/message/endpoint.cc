// SPDX-License-Identifier: BSD-2-Clause
#include "event/message/endpoint.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "base/undo.h"
#include "src/log/log.h"
#include "src/proto/slice_cursor.h"

namespace exs {
namespace {

std::int32_t tag_of(std::uint64_t bits) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits));
}
std::int32_t context_of(std::uint64_t bits) noexcept {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(bits >> 32U));
}

// Copies between memory of this process.
void copy_into(const proto::Operation& receive, const proto::Operation& send) {
  proto::SliceCursor into(receive);
  proto::SliceCursor from(send);
  while (into.left_bytes() > 0 && from.left_bytes() > 0) {
    const LocalSlice piece = from.next(into.left_bytes());
    into.fill_from({piece.address, piece.length_bytes});
  }
}

constexpr std::uint32_t kPostsPerLook = 64;

// False: memory of the one or the other is not there.
template <typename Copy>
bool has_copied(Copy&& copy) {
  try {
    copy();
    return true;
  } catch (const MemoryGone&) {
    return false;
  }
}

void describe_status(exm_status_t& status, std::uint32_t peer, std::uint64_t bits,
                     std::uint64_t length) noexcept {
  status.source = static_cast<std::int32_t>(peer);
  status.tag = tag_of(bits);
  status.context = context_of(bits);
  status.length = length;
}

std::size_t total_of(std::span<const exs_iovec_t> pieces) noexcept {
  std::size_t bytes = 0;
  for (const exs_iovec_t& piece : pieces) bytes += piece.iov_len;
  return bytes;
}

}  // namespace

Endpoint::Endpoint(std::shared_ptr<Shard> shard, EndpointOptions options)
    : shard_(std::move(shard)),
      options_(std::move(options)),
      peers_(options_.peers),
      mailbox_(draw<std::uint64_t>().value_or(monotonic_ns())) {}

Endpoint::~Endpoint() = default;

// ---------------------------------------------------------------- requests

Request& Endpoint::open(Request::Kind kind, std::uint32_t peer, const Buffer& memory,
                        const Listener& listener) {
  Request& request = requests_.take_request();
  request.kind = kind;
  request.listener = listener;
  request.peer = peer;
  request.status = {};
  request.label = {};
  request.operation.memory = {memory.address, memory.bytes, {}};
  request.operation.vector = {};
  request.operation.label = nullptr;
  if (memory.pieces.empty() && !memory.is_lent) return request;
  Undo give_back([&] { requests_.free(request); });
  request.pieces.clear();
  for (const exs_iovec_t& piece : memory.pieces)
    request.pieces.push_back({static_cast<std::byte*>(piece.iov_base), piece.iov_len, {}});
  if (!memory.pieces.empty()) request.operation.memory = {nullptr, total_of(memory.pieces), {}};
  request.operation.vector = request.pieces;
  if (memory.is_lent) keep_copy(request);
  give_back.cancel();
  return request;
}

void Endpoint::keep_copy(Request& request) {
  const std::size_t bytes = request.operation.memory.length_bytes;
  request.copy.reset(new std::byte[bytes]);
  proto::SliceCursor(request.operation).drain_into({request.copy.get(), bytes});
  request.operation.memory = {request.copy.get(), bytes, {}};
  request.operation.vector = {};
}

void Endpoint::describe(Request& receive, std::uint32_t source, const proto::Arrival& arrival) noexcept {
  describe_status(receive.status, source, arrival.bits, arrival.length_bytes);
  receive.label.bits = arrival.bits;
  receive.label.data = arrival.data;
  receive.label.has_data = arrival.has_data;
}

void Endpoint::end(Request& request, int error) {
  request.status.error = error;
  request.status.cancelled = error == ECANCELED ? 1 : 0;
  request.attachment.reset();
  request.copy.reset();
  Nap* const nap = std::exchange(request.nap, nullptr);
  const bool nobody_waits = request.nobody_waits;
  if (request.listener.is_poll && !nobody_waits) {
    note_polled(request);
  } else if (is_peeked_ && !nobody_waits) {
    note_ended(request);
  }
  request.state.store(Request::State::kEnded, std::memory_order_release);
  if (nap != nullptr) nap->ring();
  if (!watchers_.empty()) ring_watchers();
  if (nobody_waits) requests_.free(request);
}

// Notes an ended request for exm_peek, and forgets those that were given up otherwise.
void Endpoint::note_ended(const Request& request) {
  while (!ended_.empty() && requests_.find(ended_.front()) == nullptr) ended_.drop_front();
  ended_.push_back(request.handle());
}

void Endpoint::ring_watchers() {
  for (Nap* const nap : watchers_) nap->ring();
}

int Endpoint::take_status(Request& request, exm_status_t* status, RequestChain& taken) noexcept {
  const int error = request.status.error;
  if (status != nullptr) *status = request.status;
  taken.add(request);
  return error;
}

int Endpoint::take_status(Request& request, exm_status_t* status) noexcept {
  RequestChain taken;
  const int error = take_status(request, status, taken);
  give_up(taken);
  return error;
}

// ---------------------------------------------------------------- sends

void Endpoint::count_eager(std::uint64_t bytes) noexcept {
  ++counters_.sends;
  ++counters_.eager_sends;
  counters_.bytes_sent += bytes;
}

bool Endpoint::send_short(Peer& to, const proto::Label& label, LocalSlice payload) noexcept {
  return shard_->short_send([&] {
    const proto::ShortSend sent = to.send_short(label, payload);
    if (sent == proto::ShortSend::kSent) count_eager(payload.length_bytes);
    return sent;
  });
}

bool Endpoint::send_at_once(std::uint32_t to, const proto::Label& label, const Buffer& from) {
  Peer* const known = peers_.find(to);
  if (known == nullptr || !from.pieces.empty()) return false;
  const LocalSlice payload{from.address, from.bytes, {}};
  if (send_short(*known, label, payload)) return true;
  proto::Operation operation;
  operation.memory = payload;
  operation.label = &label;
  return shard_->try_step([&] {
    if (!known->send_now(operation)) return false;
    count_eager(from.bytes);
    return true;
  });
}

Result<exm_request_t> Endpoint::send(std::uint32_t to, const proto::Label& label, const Buffer& from,
                                     const Listener& listener) {
  if (!label.synchronous && send_at_once(to, label, from)) return 0;
  exm_request_t made = 0;
  shard_->carry_out([&] {
    Request& request = open(Request::Kind::kSend, to, from, listener);
    Undo give_back([&] { requests_.free(request); });
    made = request.handle();
    request.label = label;
    request.operation.label = &request.label;
    const std::uint64_t bytes = request.operation.memory.length_bytes;
    describe_status(request.status, to, label.bits, bytes);
    ++counters_.sends;
    counters_.bytes_sent += bytes;
    if (to == options_.number) {
      send_to_self(request);
    } else {
      peer(to).post(request);
    }
    give_back.cancel();
  });
  return made;
}

// Short ones are copied, so that the send ends.
void Endpoint::send_to_self(Request& send) {
  constexpr std::size_t kCopiedMax = 8192;
  const match::Envelope envelope{options_.number, send.label.bits};
  const std::uint64_t bytes = send.operation.memory.length_bytes;
  proto::Arrival arrival;
  arrival.bits = envelope.bits;
  arrival.data = send.label.data;
  arrival.has_data = send.label.has_data;
  arrival.length_bytes = bytes;
  ++counters_.eager_sends;
  if (Request* const receive = take_receive(envelope); receive != nullptr) {
    describe(*receive, envelope.source, arrival);
    ++counters_.expected;
    if (!has_copied([&] { copy_into(receive->operation, send.operation); })) {
      end(*receive, EFAULT);
      return end(send, EFAULT);
    }
    end_received(*receive);
    return end(send, 0);
  }
  auto kept = std::make_unique<Kept>();
  kept->source = envelope.source;
  kept->arrival = arrival;
  const bool is_copied = bytes <= kCopiedMax && !send.label.synchronous;
  if (is_copied) {
    kept->bytes.reset(new std::byte[bytes]);
    if (!has_copied([&] { proto::SliceCursor(send.operation).drain_into({kept->bytes.get(), bytes}); }))
      return end(send, EFAULT);
  } else {
    kept->send = &send;
  }
  keep(std::move(kept));
  if (is_copied) end(send, 0);
}

// ---------------------------------------------------------------- receives

Request* Endpoint::take_receive(const match::Envelope& envelope) {
  return mailbox_.take_receive(envelope);
}

void Endpoint::fill(Request& receive, std::uint32_t source, const proto::Arrival& arrival,
                    const ArrivingMessage& message, std::size_t offset) {
  const bool is_there =
      has_copied([&] { proto::copy_payload(message, offset, arrival.length_bytes, receive.operation); });
  describe(receive, source, arrival);
  ++counters_.expected;
  is_there ? end_received(receive) : end(receive, EFAULT);
}

// All of the message that it has room for is there.
void Endpoint::end_received(Request& receive) {
  const std::uint64_t length = receive.status.length;
  const std::uint64_t room = receive.operation.memory.length_bytes;
  ++counters_.receives;
  counters_.bytes_received += std::min(room, length);
  end(receive, length > room ? EMSGSIZE : 0);
}

void Endpoint::keep(std::unique_ptr<Kept> message) {
  mailbox_.keep(std::move(message));
  ++counters_.unexpected;
  if (!watchers_.empty()) ring_watchers();
}

exm_request_t Endpoint::receive(const match::Criteria& criteria, const Buffer& into,
                                const Listener& listener) {
  exm_request_t made = 0;
  bool is_to_be_driven = false;
  shard_->inspect([&] {
    Request& request = open(Request::Kind::kReceive, criteria.source, into, listener);
    Undo give_back([&] { requests_.free(request); });
    made = request.handle();
    is_to_be_driven = post_receive(request, criteria);
    give_back.cancel();
    if (++posts_ % kPostsPerLook == 0) look_between_posts();
  });
  if (is_to_be_driven) shard_->carry_out([] {});
  return made;
}

// A thread that posts and posts leaves the peer without credits, unless it looks here.
void Endpoint::look_between_posts() noexcept {
  shard_->assert_held();
  static_cast<void>(shard_->take_news());
}

bool Endpoint::post_receive(Request& receive, const match::Criteria& criteria) {
  if (mailbox_.messages() > 0) {
    if (Kept* const kept = mailbox_.find(criteria); kept != nullptr) return give(*kept, receive);
  }
  if (const int error = why_none_comes(criteria); error != 0) {
    end(receive, error);
    return false;
  }
  mailbox_.add_receive(receive, criteria);
  return want(criteria);
}

bool Endpoint::want(const match::Criteria& criteria) {
  if (full_peers_ == 0) return false;
  const proto::Wish wish{criteria.bits, criteria.ignore};
  if (criteria.source != match::kAnySource) {
    Peer* const known = peers_.find(criteria.source);
    return known != nullptr && known->want(wish);
  }
  bool has_asked = false;
  for (const auto& peer : made_peers_) has_asked |= peer->want(wish);
  return has_asked;
}

// 0: one may come.
int Endpoint::why_none_comes(const match::Criteria& criteria) const noexcept {
  if (criteria.source == match::kAnySource)
    return options_.has_ranks && failed_.size() > failures_acknowledged_ ? ECONNRESET : 0;
  const Peer* const known = peers_.find(criteria.source);
  return known == nullptr ? 0 : known->why_gone();
}

bool Endpoint::give(Kept& kept, Request& receive) {
  const std::uint64_t bytes = kept.arrival.length_bytes;
  describe(receive, kept.source, kept.arrival);
  if (kept.is_advert) {
    const bool is_lost = kept.from == nullptr;
    const Status status = is_lost ? Status(ECONNRESET) : kept.from->read_kept(kept.advert, receive);
    if (is_lost || status.ok()) mailbox_.remove(kept);
    if (!status.ok()) end(receive, status.error());
    return !is_lost;
  }
  const auto message = mailbox_.remove(kept);
  const bool is_there = has_copied([&] {
    if (message->send != nullptr) return copy_into(receive.operation, message->send->operation);
    proto::SliceCursor(receive.operation).fill_from({message->bytes.get(), bytes});
  });
  if (message->send != nullptr) end(*message->send, is_there ? 0 : EFAULT);
  is_there ? end_received(receive) : end(receive, EFAULT);
  if (message->from == nullptr) return false;
  message->from->finish_kept(message->arrival, true);
  return true;
}

template <typename Tell>
bool Endpoint::find_kept(const match::Criteria& criteria, exm_message_t* taken, Tell&& tell) {
  bool is_there = false;
  bool is_to_be_driven = false;
  shard_->inspect([&] {
    Kept* const kept = mailbox_.find(criteria);
    if (kept == nullptr) {
      is_to_be_driven = want(criteria);
      return;
    }
    is_there = true;
    if (taken != nullptr) *taken = mailbox_.set_apart(*kept);
    tell(kept->source, kept->arrival);
  });
  if (is_to_be_driven) shard_->carry_out([] {});
  return is_there;
}

bool Endpoint::probe(const match::Criteria& criteria, exm_status_t* status, exm_message_t* taken) {
  return find_kept(criteria, taken, [&](std::uint32_t source, const proto::Arrival& arrival) {
    if (status == nullptr) return;
    *status = {};
    describe_status(*status, source, arrival.bits, arrival.length_bytes);
  });
}

bool Endpoint::probe(const match::Criteria& criteria, exm_completion_t& told, exm_message_t* taken) {
  return find_kept(criteria, taken, [&](std::uint32_t source, const proto::Arrival& arrival) {
    told = {.user = nullptr,
            .match = arrival.bits,
            .data = arrival.data,
            .length = arrival.length_bytes,
            .peer = static_cast<std::int32_t>(source),
            .error = 0,
            .flags = EXM_RECEIVED | (arrival.has_data ? EXM_DATA : 0U),
            .reserved = 0};
  });
}

Result<exm_request_t> Endpoint::receive_taken(exm_message_t message, const Buffer& into,
                                              const Listener& listener) {
  exm_request_t made = 0;
  shard_->carry_out([&] {
    Kept* const kept = mailbox_.find_apart(message);
    if (kept == nullptr) return;
    Request& request = open(Request::Kind::kReceive, kept->source, into, listener);
    Undo give_back([&] { requests_.free(request); });
    made = request.handle();
    give(*kept, request);
    give_back.cancel();
  });
  if (made == 0) return failure(EINVAL);
  return made;
}

// ---------------------------------------------------------------- ends

void Endpoint::cancel(Request& request) {
  shard_->carry_out([&] {
    if (request.state.load(std::memory_order_relaxed) != Request::State::kOpen) return;
    if (request.kind == Request::Kind::kSend) {
      if (request.peer != options_.number) peer(request.peer).cancel(request);
    } else if (request.waiting != match::kNone) {
      mailbox_.remove_receive(request);
      end(request, ECANCELED);
    }
  });
}

void Endpoint::let_go(Request& request) {
  shard_->inspect([&] {
    if (request.state.load(std::memory_order_relaxed) == Request::State::kEnded) {
      requests_.free(request);
    } else {
      request.nobody_waits = true;
    }
  });
}

void Endpoint::count(exm_stats_t& stats) {
  shard_->inspect([&] {
    stats.sends = counters_.sends;
    stats.receives = counters_.receives;
    stats.bytes_sent = counters_.bytes_sent;
    stats.bytes_received = counters_.bytes_received;
    stats.eager_sends = counters_.eager_sends;
    stats.rendezvous_sends = counters_.rendezvous_sends;
    stats.expected = counters_.expected;
    stats.unexpected = counters_.unexpected;
    stats.unexpected_bytes = mailbox_.bytes();
    stats.unexpected_messages = mailbox_.messages();
    stats.receives_waiting = mailbox_.receives();
    stats.peers_connected = static_cast<std::uint64_t>(std::count_if(
        made_peers_.begin(), made_peers_.end(), [](const auto& one) { return one->is_connected(); }));
  });
}

}  // namespace exs
