// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/worker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "base/check.h"
#include "base/clock.h"
#include "rpc/channel/close_socket.h"
#include "rpc/channel/wait_again.h"
#include "rpc/channel/wake_up.h"

namespace exs::rpc {
namespace {

constexpr int kFirstDepth = 1024;
constexpr int kSlotsOfServer = 512;
constexpr int kSlotsOfStranger = 4;  // a client that has not greeted
constexpr int kSlotsOfClient = 96;
constexpr std::int64_t kUngreetedNs = 1'000'000'000;   // between checks for clients that do not greet
constexpr std::uint64_t kAcceptAgainNs = 100'000'000;  // after an accept that lacked memory
constexpr exs_ahandle_t kWake = nullptr;

}  // namespace

Status ServerWorker::make_queue() {
  queue_ = exs_qcreate(kFirstDepth);
  depth_ = kFirstDepth;
  return queue_ == EXS_QHANDLE_INVALID ? Status(errno) : Status();
}

ServerWorker::~ServerWorker() {
  for (ClientPlace& place : places_) place.window.reset();
  for (ClientPlace& place : places_)
    if (place.binding != nullptr) place.binding->end();
  places_.clear();
  const LockGuard lock(mutex_);
  for (const AdoptedSocket& one : adopted_) close_at_once(one.socket);
  adopted_.clear();
  if (queue_ == EXS_QHANDLE_INVALID) return;
  close_unseen_clients();
  exs_qdelete(queue_);
}

// Their accepts have ended after run(). The listening sockets are closed, so no more come.
void ServerWorker::close_unseen_clients() const {
  exs_event_t event{};
  while (exs_qwait(queue_, &event, 1, 1, 0) == 1)
    if (event.exs_evt_type == EXS_EVT_ACCEPT && event.exs_evt_errno == 0)
      close_at_once(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
}

bool ServerWorker::adopt(int socket, std::shared_ptr<Binding> client) {
  try {
    const LockGuard lock(mutex_);
    adopted_.push_back({std::move(client), socket});
    has_adopted_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    return false;
  }
  wake();
  return true;
}

void ServerWorker::wake() {
  wake_up(queue_, kWake);
}

void ServerWorker::run(const std::atomic<bool>& stop, ClientAcceptor& acceptor) {
  constexpr int kEvents = 64;
  std::array<exs_event_t, kEvents> events;
  int count = 0;
  while (!stop.load(std::memory_order_acquire)) {
    const bool looks = !watched_.empty() && look_at_windows(count > 0);
    count = exs_qwait(queue_, events.data(), kEvents, 1, looks ? 0 : limit_ns());
    if (count < 0 && !may_wait_again()) return;
    if (count != 0) memory_.arrived_ns = monotonic_ns();
    memory_.is_fresh = true;
    for (int i = 0; i < count; ++i) {
      take_event(events[static_cast<std::size_t>(i)], acceptor);
      memory_.is_fresh = false;
    }
    if (has_adopted_.load(std::memory_order_relaxed)) take_adopted();
    if (!ungreeted_.empty()) end_late_clients();
    if (accept_again_ns_ != kNeverNs) accept_again(acceptor);
  }
}

std::int64_t ServerWorker::limit_ns() const {
  if (accept_again_ns_ != kNeverNs) return static_cast<std::int64_t>(kAcceptAgainNs);
  return ungreeted_.empty() ? -1 : kUngreetedNs;
}

// Not at once: clients that wait would make the next accept end, too.
void ServerWorker::accept_again(ClientAcceptor& acceptor) {
  const std::uint64_t now = monotonic_ns();
  if (now < accept_again_ns_) return;
  accept_again_ns_ = acceptor.accept_again() ? kNeverNs : now + kAcceptAgainNs;
}

exs_ahandle_t ServerWorker::handle_of(std::uint32_t index) const {
  const std::uint64_t word = (std::uint64_t{places_[index].generation} << 32U) | (index + 1);
  return reinterpret_cast<exs_ahandle_t>(word);  // NOLINT(performance-no-int-to-ptr): a handle is a word
}

void ServerWorker::take_event(const exs_event_t& event, ClientAcceptor& acceptor) {
  if (event.exs_evt_type == EXS_EVT_ACCEPT) {
    if (!acceptor.take_accept(event)) accept_again_ns_ = monotonic_ns() + kAcceptAgainNs;
    return;
  }
  if (event.exs_evt_ahandle == kWake) return;
  const auto word = reinterpret_cast<std::uint64_t>(event.exs_evt_ahandle);
  const auto index = static_cast<std::uint32_t>(word) - 1;
  if (index >= places_.size() || places_[index].generation != word >> 32U) return;
  take_event_of(index, event);
}

void ServerWorker::take_event_of(std::uint32_t index, const exs_event_t& event) {
  const ClientPlace& place = places_[index];
  const bool is_stranger = place.binding != nullptr && !place.binding->is_greeted();
  const Status taken = pass_event(index, event);
  if (is_stranger && place.binding->is_greeted()) {
    ++greeted_;
    deepen_queue();
  }
  if (!taken.ok()) end_place(index);
}

// If memory runs out, only the client of this request loses its connection.
Status ServerWorker::pass_event(std::uint32_t index, const exs_event_t& event) try {
  const ClientPlace& place = places_[index];
  EXS_CHECK((place.window == nullptr) != (place.binding == nullptr));
  if (place.window == nullptr) return place.binding->take_event(event, memory_);
  const Status taken = place.window->take_event(event);
  if (taken.ok()) watch_window(index);
  return taken;
} catch (const std::bad_alloc&) {
  return Status(ENOMEM);
}

void ServerWorker::take_adopted() {
  std::vector<AdoptedSocket> adopted;
  {
    const LockGuard lock(mutex_);
    adopted.swap(adopted_);
    has_adopted_.store(false, std::memory_order_relaxed);
  }
  for (AdoptedSocket& one : adopted) {
    if (one.client == nullptr) {
      add_client(one.socket);
    } else {
      add_window(one);
    }
  }
}

void ServerWorker::add_client(int socket) {
  if (!make_binding(socket)) return close_at_once(socket);
  const std::uint32_t index = take_place();
  clients_.fetch_add(1, std::memory_order_relaxed);
  const bool is_full = all_clients_.fetch_add(1, std::memory_order_relaxed) >= parts_.settings.clients;
  deepen_queue();
  ungreeted_.push_back(index);
  if (!places_[index].binding->start(is_full).ok()) end_place(index);
}

// Makes a binding in the last free place. Returns false if memory ran out.
bool ServerWorker::make_binding(int socket) {
  if (!make_place()) return false;
  try {
    const std::uint32_t index = free_places_.back();
    places_[index].binding =
        std::make_shared<Binding>(socket, queue_, handle_of(index), parts_, monotonic_ns());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Makes sure that a place is free. Returns false if memory ran out.
bool ServerWorker::make_place() {
  try {
    if (free_places_.empty()) {
      free_places_.reserve(places_.size() + 1);
      places_.emplace_back();
      free_places_.push_back(static_cast<std::uint32_t>(places_.size() - 1));
    }
    ungreeted_.reserve(ungreeted_.size() + 1);
    watched_.reserve(places_.size());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// The place in which make_binding() or make_window() has put something.
std::uint32_t ServerWorker::take_place() {
  const std::uint32_t index = free_places_.back();
  free_places_.pop_back();
  return index;
}

// The queue needs a slot for every event that the clients can cause. Those that have not greeted cause few, and may be many.
void ServerWorker::deepen_queue() {
  const std::int64_t wanted =
      kSlotsOfServer + std::int64_t{clients()} * kSlotsOfStranger + std::int64_t{greeted_} * kSlotsOfClient;
  if (wanted <= depth_) return;
  const int deeper = static_cast<int>(std::min<std::int64_t>(wanted * 2, EXS_QDEPTH_MAX));
  if (exs_qmodify(queue_, EXS_QATTR_DEPTH, &deeper, sizeof deeper) == 0) depth_ = deeper;
}

void ServerWorker::end_place(std::uint32_t index) {
  ClientPlace& place = places_[index];
  if (place.window != nullptr) {
    place.window.reset();
    std::erase(watched_, index);
  } else {
    end_binding(index);
  }
  ++place.generation;
  free_places_.push_back(index);
  EXS_DEBUG_CHECK(free_places_.size() <= places_.size());
}

void ServerWorker::end_binding(std::uint32_t index) {
  ClientPlace& place = places_[index];
  EXS_CHECK(clients() > 0 && (greeted_ > 0 || !place.binding->is_greeted()));
  if (place.binding->is_greeted()) --greeted_;
  place.binding->end();
  place.binding.reset();
  std::erase(ungreeted_, index);
  clients_.fetch_sub(1, std::memory_order_relaxed);
  all_clients_.fetch_sub(1, std::memory_order_relaxed);
}

// They are in the order in which they came.
void ServerWorker::end_late_clients() {
  std::erase_if(ungreeted_, [&](std::uint32_t index) { return places_[index].binding->is_greeted(); });
  const std::uint64_t now = monotonic_ns();
  while (!ungreeted_.empty() && places_[ungreeted_.front()].binding->is_late(now))
    end_place(ungreeted_.front());
}

}  // namespace exs::rpc
