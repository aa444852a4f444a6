// Waiting for events: one thread leads and processes exs events, the others follow.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <new>

#include "base/check.h"
#include "base/contain.h"
#include "base/refusal.h"
#include "service/node/node.h"

namespace exs::svc {
namespace {

constexpr int kBatch = 64;
constexpr std::size_t kSpareEventsMost = 256;
constexpr std::uint64_t kMomentNs = 10 * kNsPerMs;
constexpr std::uint64_t kSoonNs = 20 * kNsPerMs;

}  // namespace

Result<int> Node::wait(exs_svc_event_t* events, int max, std::int64_t timeout_ns) {
  const std::uint64_t until_ns = limit_after(timeout_ns > 0 ? boottime_ns() : 0, timeout_ns);
  const LockGuard guard(lock_);
  pending_acks_.flush_deferred();
  check_fences();
  for (bool is_late = false;;) {
    if (!events_.empty()) break;
    if (is_late) return 0;
    if (!has_leader_) {
      if (const Status led = lead(until_ns); !led.ok()) return failure(led);
    } else if (timeout_ns == 0) {
      return 0;
    } else {
      follow(until_ns);
    }
    is_late = until_ns != kNeverNs && (timeout_ns == 0 || boottime_ns() >= until_ns);
  }
  int count = 0;
  for (; count < max && !events_.empty(); ++count) {
    events[count] = events_.front();
    spare_events_.splice(spare_events_.begin(), events_, events_.begin());
  }
  if (spare_events_.size() > kSpareEventsMost) spare_events_.resize(kSpareEventsMost);
  show();
  return count;
}

// Waits for events of exs and processes them. EINTR a signal was caught.
Status Node::lead(std::uint64_t until_ns) {
  EXS_CHECK(!has_leader_);
  std::array<exs_event_t, kBatch> batch;
  has_leader_ = true;
  lock_.unlock();
  const std::int64_t timeout_ns = until_ns == kNeverNs ? -1
                                  : until_ns == 0
                                      ? 0
                                      : static_cast<std::int64_t>(time_left(until_ns, boottime_ns()));
  const int count = exs_qwait(queue_, batch.data(), kBatch, 1, timeout_ns);
  const Status waited = count < 0 ? Status(errno) : Status();
  lock_.lock();
  has_leader_ = false;
  check_fences();
  for (int i = 0; i < count; ++i) take(batch[static_cast<std::size_t>(i)]);
  end_step();
  followers_.notify_all();
  return waited;
}

// Waits until the leader has events, or gives up the lead.
void Node::follow(std::uint64_t until_ns) {
  if (until_ns == kNeverNs) return followers_.wait(lock_);
  followers_.wait_until(lock_, time_after(monotonic_ns(), time_left(until_ns, boottime_ns())));
}

// Moves bytes, or lets another thread do so, until the condition holds. The condition must not depend on the program taking events.
void Node::move_until(const std::function<bool()>& is_so) {
  while (!is_so()) {
    const std::uint64_t until_ns = time_after(boottime_ns(), kMomentNs);
    if (has_leader_) {
      follow(until_ns);
    } else {
      static_cast<void>(lead(until_ns));  // a signal only ends the moment
      run_timers();
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
    check_leases();
    run_timers();
  } catch (const std::bad_alloc&) {
    if (target != nullptr) target->out_of_memory();
    if (target == nullptr) wake_soon();
  }
}

// ---------------------------------------------------------------- what the name thread has

std::uint64_t Node::find(const IdBytes& id, std::uint64_t limit_ns) {
  lock_.assert_held();
  Ways ways = config_.ways;
  ways.waits_for_holder = true;
  names_->find(++last_search_, id, limit_ns, sink_, std::move(ways));
  return last_search_;
}

std::uint64_t Node::find_beyond(const IdBytes& id, std::uint64_t limit_ns) {
  lock_.assert_held();
  Ways ways = config_.ways;
  if (!ways.directory && !ways.multicast) return 0;
  ways.by_host = false;
  ways.names_path.clear();
  names_->find(++last_search_, id, limit_ns, sink_, std::move(ways));
  return last_search_;
}

void Node::take_found() {
  for (const Sink::Found& found : sink_->take()) {
    // The peer may have gone, or may have asked again.
    for (const auto& [peer, owner] : peers_) {
      contain([&] { peer->found(found.search, found.addresses, found.record); },
              [&] { peer->out_of_memory(); });
    }
  }
}

void Node::wake_at(std::uint64_t time_ns) {
  lock_.assert_held();
  if (time_ns >= alarm_ns_) return;
  names_->ring_at(time_ns, sink_);
  alarm_ns_ = time_ns;
}

void Node::wake_soon() noexcept {
  alarm_ns_ = kNeverNs;
  // If the name thread cannot note the alarm, the next event of any kind makes the node look.
  contain([this] { wake_at(time_after(boottime_ns(), kSoonNs)); }, [] {});
}

void Node::run_timers() {
  const std::uint64_t now = boottime_ns();
  if (now < alarm_ns_) return;
  alarm_ns_ = kNeverNs;
  if (now >= accept_again_ns_) accept_again();
  std::vector<Link*> links;  // a copy, because their peers may make others
  for (const auto& [link, owner] : links_) links.push_back(link);
  for (Link* const link : links) link->run_timers(now);
  for (const auto& [peer, owner] : peers_)
    contain([&] { peer->run_timers(now); }, [&] { peer->out_of_memory(); });
  for (const auto& [id, service] : services_) contain([&] { service->run_timers(); }, [&] { wake_soon(); });
  for (const auto& adopter : adopters_) adopter->endpoint().run_timers();
  for (const auto& [link, owner] : links_)
    if (link->is_up() && !link->is_initiator() && link->had_no_room()) send_all_of(*link);
  std::uint64_t next_ns = std::min(fence_ns_, accept_again_ns_);
  for (const auto& [link, owner] : links_) next_ns = std::min(next_ns, link->due_ns());
  for (const auto& [peer, owner] : peers_) next_ns = std::min(next_ns, peer->due_ns());
  for (const auto& [id, service] : services_) next_ns = std::min(next_ns, service->due_ns());
  for (const auto& adopter : adopters_) next_ns = std::min(next_ns, adopter->endpoint().due_ns());
  for (const auto& move : moves_) next_ns = std::min(next_ns, move->due_ns());
  wake_at(next_ns);
}

// ---------------------------------------------------------------- what the program gets

void Node::report(const exs_svc_event_t& event) {
  lock_.assert_held();
  const bool is_to_be_served = event.type == EXS_SVC_EVT_MESSAGE || event.type == EXS_SVC_EVT_REQUEST;
  if (is_to_be_served && event.service->is_suspended()) return event.service->keep_back(event);
  if (event.type == EXS_SVC_EVT_DROPPED && !events_.empty()) {
    exs_svc_event_t& last = events_.back();
    if (last.type == event.type && last.peer == event.peer && last.error == event.error) {
      last.count += event.count;
      return;
    }
  }
  make_room_for_events(1);
  spare_events_.front() = event;
  events_.splice(events_.end(), spare_events_, spare_events_.begin());
}

void Node::make_room_for_events(std::size_t count) {
  lock_.assert_held();
  while (spare_events_.size() < count) spare_events_.emplace_back();
}

void Node::drop_events(const void* object) {
  std::erase_if(events_, [object](const exs_svc_event_t& event) {
    if (event.service != object && event.peer != object) return false;
    discard(event);
    return true;
  });
}

void Node::take_back(const CallName& name) {
  lock_.assert_held();
  for (const auto& move : moves_) move->take_back(name);
  std::erase_if(events_, [&name](const exs_svc_event_t& event) {
    if (event.type != EXS_SVC_EVT_REQUEST) return false;
    const CallName& its = *call_of(event.message);
    if (its.call != name.call || its.flow != name.flow) return false;
    discard(event);
    return true;
  });
}

Result<int> Node::descriptor() {
  const LockGuard guard(lock_);
  has_descriptor_ = true;
  const int descriptor = exs_qfd(queue_);
  if (descriptor < 0) return failure(refuse_in_words(errno, exs_errtext()));
  show();
  return descriptor;
}

// Wakes a thread that waits, or makes the descriptor readable.
void Node::show() {
  if (events_.empty() || is_shown_ || (!has_descriptor_ && !has_leader_)) return;
  is_shown_ = exs_qpost(queue_, nullptr, nullptr) == 0;
}

}  // namespace exs::svc
