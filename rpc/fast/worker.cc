// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/fast/worker.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <new>

#include "rpc/channel/clock.h"
#include "rpc/channel/close_at_once.h"
#include "rpc/channel/wait_again.h"

namespace exs::rpc {
namespace {

constexpr int kFirstDepth = 1024;
constexpr int kSlotsOfServer = 512;
constexpr int kSlotsOfStranger = 4;  // a client that has not greeted
constexpr int kSlotsOfClient = 96;
constexpr std::int64_t kUngreetedNs = 1'000'000'000;  // between checks for clients that do not greet
constexpr std::int64_t kAcceptAgainNs = 100'000'000;  // after an accept that lacked memory
constexpr exs_ahandle_t kWake = nullptr;

}  // namespace

bool Worker::prepare() {
  queue_ = exs_qcreate(kFirstDepth);
  depth_ = kFirstDepth;
  return queue_ != EXS_QHANDLE_INVALID;
}

Worker::~Worker() {
  for (const Adopted& one : adopted_) close_at_once(one.socket);
  for (Place& place : places_) place.window.reset();
  for (Place& place : places_)
    if (place.binding != nullptr) place.binding->end();
  places_.clear();
  if (queue_ != EXS_QHANDLE_INVALID) exs_qdelete(queue_);
}

bool Worker::adopt(int socket, std::shared_ptr<Binding> client) {
  try {
    const std::lock_guard lock(mutex_);
    adopted_.push_back({socket, std::move(client)});
    has_adopted_.store(true, std::memory_order_relaxed);
  } catch (const std::bad_alloc&) {
    return false;
  }
  wake();
  return true;
}

// A full queue has events, so the thread does not sleep.
void Worker::wake() {
  exs_qpost(queue_, kWake, nullptr);
}

void Worker::run(const std::atomic<bool>& stop, Acceptor& acceptor) {
  constexpr int kEvents = 64;
  std::array<exs_event_t, kEvents> events;
  int count = 0;
  while (!stop.load(std::memory_order_acquire)) {
    const bool looks = !watched_.empty() && look_at_windows(count > 0);
    count = exs_qwait(queue_, events.data(), kEvents, 1, looks ? 0 : limit_ns());
    if (count < 0 && !may_wait_again()) return;
    if (count != 0) workshop_.arrived_ns = now_ns();
    workshop_.is_fresh = true;
    for (int i = 0; i < count; ++i) {
      take(events[static_cast<std::size_t>(i)], acceptor);
      workshop_.is_fresh = false;
    }
    if (has_adopted_.load(std::memory_order_relaxed)) take_adopted();
    if (!ungreeted_.empty()) end_late();
    if (accept_again_ns_ != INT64_MAX) accept_again(acceptor);
  }
}

std::int64_t Worker::limit_ns() const {
  if (accept_again_ns_ != INT64_MAX) return kAcceptAgainNs;
  return ungreeted_.empty() ? -1 : kUngreetedNs;
}

// Not at once: clients that wait would make the next accept end, too.
void Worker::accept_again(Acceptor& acceptor) {
  const std::int64_t now = now_ns();
  if (now < accept_again_ns_) return;
  accept_again_ns_ = acceptor.accept_again() ? INT64_MAX : now + kAcceptAgainNs;
}

exs_ahandle_t Worker::handle_of(std::uint32_t index) const {
  const std::uint64_t word = (std::uint64_t{places_[index].generation} << 32U) | (index + 1);
  return reinterpret_cast<exs_ahandle_t>(word);
}

void Worker::take(const exs_event_t& event, Acceptor& acceptor) {
  if (event.exs_evt_type == EXS_EVT_ACCEPT) {
    if (!acceptor.take(event)) accept_again_ns_ = now_ns() + kAcceptAgainNs;
    return;
  }
  if (event.exs_evt_ahandle == kWake) return;
  const auto word = reinterpret_cast<std::uint64_t>(event.exs_evt_ahandle);
  const auto index = static_cast<std::uint32_t>(word) - 1;
  if (index >= places_.size() || places_[index].generation != word >> 32U) return;
  take_of(index, event);
}

// If memory runs out, only the client of this request loses its connection.
void Worker::take_of(std::uint32_t index, const exs_event_t& event) {
  const Place& place = places_[index];
  const bool is_stranger = place.binding != nullptr && !place.binding->is_greeted();
  bool goes_on = false;
  try {
    if (place.window != nullptr) {
      goes_on = place.window->take(event);
      if (goes_on) watch(index);
    } else {
      goes_on = place.binding->take(event, workshop_);
    }
  } catch (const std::bad_alloc&) {
    goes_on = false;
  }
  if (is_stranger && place.binding->is_greeted()) {
    ++greeted_;
    deepen();
  }
  if (!goes_on) end(index);
}

void Worker::take_adopted() {
  std::vector<Adopted> adopted;
  {
    const std::lock_guard lock(mutex_);
    adopted.swap(adopted_);
    has_adopted_.store(false, std::memory_order_relaxed);
  }
  for (Adopted& one : adopted) {
    if (one.client == nullptr) {
      add(one.socket);
    } else {
      add_window(one);
    }
  }
}

void Worker::add(int socket) {
  if (!make_binding(socket)) return close_at_once(socket);
  const std::uint32_t index = free_places_.back();
  free_places_.pop_back();
  clients_.fetch_add(1, std::memory_order_relaxed);
  const bool is_full = all_clients_.fetch_add(1, std::memory_order_relaxed) >= site_.settings.clients;
  deepen();
  ungreeted_.push_back(index);
  if (!places_[index].binding->begin(is_full)) end(index);
}

// Makes a binding in the last free place. Returns false if memory ran out.
bool Worker::make_binding(int socket) {
  if (!make_place()) return false;
  try {
    const std::uint32_t index = free_places_.back();
    places_[index].binding = std::make_shared<Binding>(socket, queue_, handle_of(index), site_, now_ns());
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// Makes sure that a place is free. Returns false if memory ran out.
bool Worker::make_place() {
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

// The queue needs a slot for every event that the clients can cause. Those that have not greeted cause few, and may be many.
void Worker::deepen() {
  const std::int64_t wanted =
      kSlotsOfServer + std::int64_t{clients()} * kSlotsOfStranger + std::int64_t{greeted_} * kSlotsOfClient;
  if (wanted <= depth_) return;
  const int deeper = static_cast<int>(std::min<std::int64_t>(wanted * 2, EXS_QDEPTH_MAX));
  if (exs_qmodify(queue_, EXS_QATTR_DEPTH, &deeper, sizeof deeper) == 0) depth_ = deeper;
}

void Worker::end(std::uint32_t index) {
  Place& place = places_[index];
  if (place.window != nullptr) {
    place.window.reset();
    std::erase(watched_, index);
  } else {
    end_binding(index);
  }
  ++place.generation;
  free_places_.push_back(index);
}

void Worker::end_binding(std::uint32_t index) {
  Place& place = places_[index];
  if (place.binding->is_greeted()) --greeted_;
  place.binding->end();
  place.binding.reset();
  std::erase(ungreeted_, index);
  clients_.fetch_sub(1, std::memory_order_relaxed);
  all_clients_.fetch_sub(1, std::memory_order_relaxed);
}

// They are in the order in which they came.
void Worker::end_late() {
  std::erase_if(ungreeted_, [&](std::uint32_t index) { return places_[index].binding->is_greeted(); });
  const std::int64_t now = now_ns();
  while (!ungreeted_.empty() && places_[ungreeted_.front()].binding->is_late(now)) end(ungreeted_.front());
}

}  // namespace exs::rpc
