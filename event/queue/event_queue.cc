// SPDX-License-Identifier: BSD-2-Clause
#include "event/queue/event_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/kernel.h"
#include "event/engine/shard.h"
#include "event/queue/summed_event.h"

namespace exs {
namespace {

void raise_event(int descriptor) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = kernel::write(descriptor, &one, sizeof one);
}

void lower_event(int descriptor) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = kernel::read(descriptor, &count, sizeof count);
}

// Fails if too many signals are pending in the process, which then has a reason to look already.
void send(const exs_signal_t& signal) {
  sigval value{};
  value.sival_ptr = signal.exs_sig_value;
  [[maybe_unused]] const int sent = kernel::sigqueue(kernel::getpid(), signal.exs_sig_signo, value);
}

}  // namespace

std::atomic<std::uint64_t> EventQueue::next_id_{1};

EventQueue::EventQueue(std::size_t depth, std::shared_ptr<Shard> home)
    : home_(std::move(home)), follower_fd_(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), depth_(depth) {}

EventQueue::~EventQueue() {
  LockGuard guard(mutex_);
  for (; !events_.empty(); events_.drop_front()) {
    KernelDescriptor::Events* const counted = events_.front_counted();
    if (counted != nullptr && counted->remove_at_end()) counted->owner().leave();
  }
}

bool EventQueue::take_slot() {
  if (!has_free_slot()) return false;
  events_.reserve(reserved_ + 1);  // for push()
  ++reserved_;
  return true;
}

bool EventQueue::reserve() {
  LockGuard guard(mutex_);
  return take_slot();
}

bool EventQueue::reserve_or_wait(const std::shared_ptr<WaitLine::Waiter>& waiter) {
  LockGuard guard(mutex_);
  if (take_slot()) return true;
  line_.join(waiter);
  awaited_ = true;
  return false;
}

std::shared_ptr<WaitLine::Waiter> EventQueue::next_waiter() {
  if (!awaited_ || closed_ || reserved_ >= depth_) return nullptr;
  auto next = line_.leave_first();
  awaited_ = next != nullptr;
  return next;
}

void EventQueue::pass_on() {
  std::shared_ptr<WaitLine::Waiter> next;
  {
    LockGuard guard(mutex_);
    next = next_waiter();
  }
  if (next) next->try_again();
}

// Another thread may delete the queue as soon as the slot is free, so nothing is touched after the unlock.
void EventQueue::cancel_reservation() {
  std::shared_ptr<WaitLine::Waiter> next;
  {
    LockGuard guard(mutex_);
    --reserved_;
    next = next_waiter();
  }
  if (next) next->try_again();
}

// Makes the descriptor readable exactly while there are entries.
void EventQueue::keep_ready_fd() {
  if (!ready_fd_.valid() || is_raised_ == !events_.empty()) return;
  is_raised_ = !is_raised_;
  if (is_raised_) {
    raise_event(ready_fd_.get());
  } else {
    lower_event(ready_fd_.get());
  }
}

void EventQueue::begin_taking() {
  LockGuard guard(mutex_);
  ++takers_;
}

void EventQueue::end_taking() {
  LockGuard guard(mutex_);
  if (--takers_ == 0) keep_ready_fd();
}

void EventQueue::unlock_and_wake() {
  const Recipients due = recipients();
  mutex_.unlock();
  notify(due);
}

EventQueue::Recipients EventQueue::recipients() {
  Recipients due;
  due.leader = leader_sleeps_ && events_.count() >= leader_min_;
  due.followers = followers_are_due();
  due.signalled = events_.count() == 1 && signal_.exs_sig_control == EXS_SIG_ENABLE;
  due.signal = signal_;
  due.self = shared_from_this();
  return due;
}

void EventQueue::notify(const Recipients& recipients) {
  if (recipients.leader) home_->wake_leader();
  if (recipients.followers) raise_event(follower_fd_.get());
  if (recipients.signalled) send(recipients.signal);
}

// ---------------------------------------------------------------- notices

bool EventQueue::reserve_for_notice() {
  LockGuard guard(mutex_);
  if (!take_slot()) return false;
  ++notices_;
  return true;
}

void EventQueue::report(SummedEvent& notice, const proto::Usage& usage) {
  mutex_.lock();
  notice.add(usage);
  if (std::exchange(notice.waits_, true)) return mutex_.unlock();
  events_.append_holding({DescriptorHold(), notice.shared_from_this()});
  added();
  unlock_and_notify();
}

void EventQueue::end_notice(SummedEvent& notice) {
  std::shared_ptr<WaitLine::Waiter> next;
  {
    LockGuard guard(mutex_);
    notice.ended_ = true;
    --notices_;
    if (!notice.waits_) --reserved_;
    next = next_waiter();
  }
  if (next) next->try_again();
}

// ---------------------------------------------------------------- taking

std::size_t EventQueue::take(exs_event_t* out, std::size_t min, std::size_t max) {
  if (count_.load(std::memory_order_relaxed) < std::max<std::size_t>(min, 1)) return 0;
  std::size_t taken = 0;
  bool awaited = false;
  {
    LockGuard guard(mutex_);
    if (events_.count() < min || events_.empty()) return 0;
    taken = std::min(max, events_.count());
    for (std::size_t i = 0; i < taken; ++i) take_front(out[i]);
    count_.store(events_.count(), std::memory_order_relaxed);
    if (events_.empty()) keep_ready_fd();
    awaited = awaited_;
  }
  if (awaited) pass_on();
  return taken;
}

void EventQueue::take_front(exs_event_t& out) {
  if (events_.front_holds()) {
    take_held(out);
  } else {
    out = events_.front();
    --reserved_;
    // The last event of a socket that is gone closes the kernel descriptor.
    KernelDescriptor::Events* const counted = events_.front_counted();
    if (counted != nullptr && counted->remove()) counted->owner().leave();
  }
  events_.drop_front();
}

// The last hold closes the kernel descriptor; the last reference destroys the notice.
void EventQueue::take_held(exs_event_t& out) {
  const WaitingEvents::Held held = events_.take_held();
  if (held.notice == nullptr || held.notice->ended_) --reserved_;
  out = held.notice == nullptr ? events_.front() : held.notice->take();
}

bool EventQueue::wants_sleep(std::size_t min) {
  return !closed_ && events_.count() < min;
}

bool EventQueue::followers_are_due() const {
  return std::any_of(follower_mins_.begin(), follower_mins_.end(),
                     [this](std::size_t min)
                         EXS_NO_THREAD_SAFETY_ANALYSIS { return events_.count() >= min; });
}

bool EventQueue::is_due(std::size_t min) {
  LockGuard guard(mutex_);
  return !wants_sleep(min);
}

bool EventQueue::sleep_as_leader(std::size_t min) {
  LockGuard guard(mutex_);
  if (!wants_sleep(min)) return false;
  leader_sleeps_ = true;
  leader_min_ = min;
  return true;
}

void EventQueue::awake_as_leader() {
  LockGuard guard(mutex_);
  leader_sleeps_ = false;
}

bool EventQueue::sleep_as_follower(std::size_t min) {
  LockGuard guard(mutex_);
  if (!wants_sleep(min)) return false;
  // The wake-up of another follower that has not woken yet must stay.
  if (!followers_are_due()) lower_event(follower_fd_.get());
  follower_mins_.push_back(min);
  return true;
}

void EventQueue::awake_as_follower(std::size_t min) {
  LockGuard guard(mutex_);
  follower_mins_.erase(std::find(follower_mins_.begin(), follower_mins_.end(), min));
}

Result<int> EventQueue::ready_fd() {
  LockGuard guard(mutex_);
  if (!ready_fd_.valid()) {
    UniqueFd made(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!made.valid()) return failure(errno);
    ready_fd_ = std::move(made);
    has_ready_fd_ = true;
    keep_ready_fd();
  }
  return ready_fd_.get();
}

void EventQueue::set_signal(const exs_signal_t& signal) {
  LockGuard guard(mutex_);
  signal_ = signal;
}

exs_signal_t EventQueue::signal() {
  LockGuard guard(mutex_);
  return signal_;
}

Status EventQueue::set_depth(std::size_t depth) {
  {
    LockGuard guard(mutex_);
    if (depth < reserved_) return Status(EBUSY);
    depth_ = depth;
  }
  pass_on();
  return Status();
}

std::size_t EventQueue::events() {
  LockGuard guard(mutex_);
  return events_.count();
}

std::size_t EventQueue::reserved() {
  LockGuard guard(mutex_);
  return reserved_;
}

Status EventQueue::close(bool force) {
  bool leader = false;
  {
    LockGuard guard(mutex_);
    if (!force && (reserved_ > events_.count() || notices_ > 0 || waiting_threads_ > 0)) return Status(EBUSY);
    closed_ = true;
    exs_event_t dropped;
    while (!events_.empty()) take_front(dropped);
    count_.store(0, std::memory_order_relaxed);
    leader = leader_sleeps_;
  }
  Recipients all;
  all.leader = leader;
  all.followers = true;
  notify(all);
  return Status();
}

bool EventQueue::closed() {
  LockGuard guard(mutex_);
  return closed_;
}

}  // namespace exs
