// Waiting for events: one thread leads and processes exs events, the others follow.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <new>

#include "service/node/node.h"

namespace exs::svc {
namespace {

constexpr int kBatch = 64;
constexpr std::int64_t kMomentNs = 10 * kNsPerMs;
constexpr std::int64_t kSoonNs = 20 * kNsPerMs;

}  // namespace

int Node::wait(exs_svc_event_t* events, int max, std::int64_t timeout_ns) {
  const std::int64_t until_ns = after(timeout_ns > 0 ? now_ns() : 0, timeout_ns);
  std::unique_lock guard(*lock_);
  debts_.pay_later_ones();
  look_at_fences();
  for (bool is_late = false;;) {
    if (!events_.empty()) break;
    if (is_late) return 0;
    if (!has_leader_) {
      if (lead(guard, until_ns) != 0) return -1;
    } else if (timeout_ns == 0) {
      return 0;
    } else if (until_ns == kNever) {
      followers_.wait(guard);
    } else {
      followers_.wait_for(guard, std::chrono::nanoseconds(std::max<std::int64_t>(until_ns - now_ns(), 0)));
    }
    is_late = until_ns != kNever && (timeout_ns == 0 || now_ns() >= until_ns);
  }
  int count = 0;
  for (; count < max && !events_.empty(); ++count) {
    events[count] = events_.front();
    events_.pop_front();
  }
  show();
  return count;
}

// Waits for events of exs and processes them. Returns 0, or -1 with errno EINTR.
int Node::lead(std::unique_lock<std::mutex>& guard, std::int64_t until_ns) {
  std::array<exs_event_t, kBatch> batch;
  has_leader_ = true;
  guard.unlock();
  const std::int64_t timeout_ns = until_ns == kNever ? -1
                                  : until_ns == 0    ? 0
                                                     : std::max<std::int64_t>(until_ns - now_ns(), 0);
  const int count = exs_qwait(queue_, batch.data(), kBatch, 1, timeout_ns);
  const int error = errno;
  guard.lock();
  has_leader_ = false;
  look_at_fences();
  for (int i = 0; i < count; ++i) take(batch[static_cast<std::size_t>(i)]);
  end_step();
  followers_.notify_all();
  errno = error;
  return count < 0 ? -1 : 0;
}

// Moves bytes, or lets another thread do so, until the condition holds. The condition must not depend on the program taking events.
void Node::move_until(std::unique_lock<std::mutex>& guard, const std::function<bool()>& is_so) {
  while (!is_so()) {
    if (has_leader_) {
      followers_.wait_for(guard, std::chrono::nanoseconds(kMomentNs));
    } else {
      lead(guard, after(now_ns(), kMomentNs));
      look_at_clock();
    }
  }
}

// If memory runs out, the link of the event ends. Its messages stay as they were, and its peers make another link.
void Node::take(const exs_event_t& event) {
  auto* const target =
      event.exs_evt_ahandle == &listener_ ? nullptr : static_cast<EventTarget*>(event.exs_evt_ahandle);
  try {
    if (target != nullptr) return target->take(event);
    if (event.exs_evt_ahandle == &listener_) return accepted(event);
    is_shown_ = false;
    take_found();
    look_at_holds();
    look_at_clock();
  } catch (const std::bad_alloc&) {
    if (target != nullptr) target->out_of_memory();
    if (target == nullptr) wake_soon();
  }
}

// ---------------------------------------------------------------- what the housekeeper has

std::uint64_t Node::find(const IdBytes& id, std::int64_t limit_ns) {
  Ways ways = config_.ways;
  ways.waits_for_holder = true;
  keeper_->find(++last_search_, id, limit_ns, sink_, std::move(ways));
  return last_search_;
}

std::uint64_t Node::find_beyond(const IdBytes& id, std::int64_t limit_ns) {
  Ways ways = config_.ways;
  if (!ways.directory && !ways.multicast) return 0;
  ways.by_host = false;
  ways.names_path.clear();
  keeper_->find(++last_search_, id, limit_ns, sink_, std::move(ways));
  return last_search_;
}

void Node::take_found() {
  for (const Sink::Found& found : sink_->take()) {
    // The peer may have gone, or may have asked again.
    for (const auto& [peer, owner] : peers_) {
      try {
        peer->found(found.search, found.addresses, found.record);
      } catch (const std::bad_alloc&) {
        peer->look_again();
      }
    }
  }
}

void Node::wake_at(std::int64_t time_ns) {
  if (time_ns >= alarm_ns_) return;
  alarm_ns_ = time_ns;
  keeper_->ring_at(time_ns, sink_);
}

void Node::wake_soon() noexcept try {
  alarm_ns_ = kNever;
  wake_at(after(now_ns(), kSoonNs));
} catch (
    const std::
        bad_alloc&) {  // the housekeeper cannot note the alarm: the next event of any kind makes the node look
}

void Node::look_at_clock() {
  const std::int64_t now = now_ns();
  if (now < alarm_ns_) return;
  alarm_ns_ = kNever;
  if (now >= accept_again_ns_) accept_again();
  std::vector<Link*> links;  // a copy, because their peers may make others
  for (const auto& [link, owner] : links_) links.push_back(link);
  for (Link* const link : links) link->look_at_clock(now);
  for (const auto& [peer, owner] : peers_) peer->look_at_clock(now);
  for (const auto& [id, service] : services_) service->look_at_clock();
  for (const auto& heir : heirs_) heir->door().look_at_clock();
  for (const auto& [link, owner] : links_)
    if (link->is_up() && !link->is_initiator() && link->had_no_room()) send_all_of(*link);
  std::int64_t next_ns = std::min(fence_ns_, accept_again_ns_);
  for (const auto& [link, owner] : links_) next_ns = std::min(next_ns, link->due_ns());
  for (const auto& [peer, owner] : peers_) next_ns = std::min(next_ns, peer->due_ns());
  for (const auto& [id, service] : services_) next_ns = std::min(next_ns, service->due_ns());
  for (const auto& heir : heirs_) next_ns = std::min(next_ns, heir->door().due_ns());
  for (const auto& move : moves_) next_ns = std::min(next_ns, move->due_ns());
  wake_at(next_ns);
}

// ---------------------------------------------------------------- what the program gets

void Node::tell(const exs_svc_event_t& event) {
  const bool is_to_be_served = event.type == EXS_SVC_EVT_MESSAGE || event.type == EXS_SVC_EVT_REQUEST;
  if (is_to_be_served && event.service->is_suspended()) return event.service->keep_back(event);
  if (event.type == EXS_SVC_EVT_DROPPED && !events_.empty()) {
    exs_svc_event_t& last = events_.back();
    if (last.type == event.type && last.peer == event.peer && last.error == event.error) {
      last.count += event.count;
      return;
    }
  }
  events_.push_back(event);
}

void Node::drop_events(const void* object) {
  std::erase_if(events_, [object](const exs_svc_event_t& event) {
    if (event.service != object && event.peer != object) return false;
    discard(event);
    return true;
  });
}

void Node::take_back(const CallName& name) {
  for (const auto& move : moves_) move->take_back(name);
  std::erase_if(events_, [&name](const exs_svc_event_t& event) {
    if (event.type != EXS_SVC_EVT_REQUEST) return false;
    const CallName& its = *call_of(event.message);
    if (its.call != name.call || its.flow != name.flow) return false;
    discard(event);
    return true;
  });
}

int Node::descriptor() {
  const std::lock_guard guard(*lock_);
  has_descriptor_ = true;
  const int descriptor = exs_qfd(queue_);
  show();
  return descriptor;
}

// Wakes a thread that waits, or makes the descriptor readable.
void Node::show() {
  if (events_.empty() || is_shown_ || (!has_descriptor_ && !has_leader_)) return;
  is_shown_ = exs_qpost(queue_, nullptr, nullptr) == 0;
}

}  // namespace exs::svc
