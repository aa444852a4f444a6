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
  for (; !entries_.empty(); entries_.drop_front()) {
    const QueuedEvent& entry = entries_.front();
    if (entry.counted != nullptr && entry.counted->remove_at_end()) entry.number->leave();
  }
}

bool EventQueue::take_slot() {
  if (closed_ || reserved_ >= depth_) return false;
  entries_.reserve(reserved_ + 1);  // for push()
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

void EventQueue::added() {
  EXS_CHECK(entries_.count() <= reserved_);
  count_.store(entries_.count(), std::memory_order_relaxed);
  if (takers_ == 0) keep_ready_fd();
}

// Makes the descriptor readable exactly while there are entries.
void EventQueue::keep_ready_fd() {
  if (!ready_fd_.valid() || is_raised_ == !entries_.empty()) return;
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

void EventQueue::unlock_and_notify() {
  if (!has_recipients()) return mutex_.unlock();
  const Recipients due = recipients();
  mutex_.unlock();
  notify(due);
}

bool EventQueue::has_recipients() const {
  return leader_sleeps_ || !follower_mins_.empty() || signal_.exs_sig_control == EXS_SIG_ENABLE;
}

EventQueue::Recipients EventQueue::recipients() {
  Recipients due;
  due.leader = leader_sleeps_ && entries_.count() >= leader_min_;
  due.followers = followers_are_due();
  due.signalled = entries_.count() == 1 && signal_.exs_sig_control == EXS_SIG_ENABLE;
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
  QueuedEvent& entry = entries_.append();
  entry.held = notice.shared_from_this();
  entry.notice = &notice;
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
  std::shared_ptr<WaitLine::Waiter> next;
  {
    LockGuard guard(mutex_);
    if (entries_.count() < min || entries_.empty()) return 0;
    taken = std::min(max, entries_.count());
    for (std::size_t i = 0; i < taken; ++i) take_front(out[i]);
    if (entries_.empty()) keep_ready_fd();
    if (awaited_) next = next_waiter();
  }
  if (next) next->try_again();
  return taken;
}

void EventQueue::take_front(exs_event_t& out) {
  QueuedEvent& entry = entries_.front();
  SummedEvent* const notice = entry.notice;
  if (notice == nullptr || notice->ended_) --reserved_;
  if (notice == nullptr) {
    out = entry.event;
  } else {
    out = notice->take();
    entry.notice = nullptr;
  }
  // The last event of a socket that is gone closes the kernel descriptor; the last reference destroys the notice.
  let_number_go(entry);
  if (entry.held) entry.held = nullptr;
  entries_.drop_front();
  count_.store(entries_.count(), std::memory_order_relaxed);
}

bool EventQueue::wants_sleep(std::size_t min) {
  return !closed_ && entries_.count() < min;
}

bool EventQueue::followers_are_due() const {
  return std::any_of(follower_mins_.begin(), follower_mins_.end(),
                     [this](std::size_t min)
                         EXS_NO_THREAD_SAFETY_ANALYSIS { return entries_.count() >= min; });
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
  return entries_.count();
}

std::size_t EventQueue::reserved() {
  LockGuard guard(mutex_);
  return reserved_;
}

Status EventQueue::close(bool force) {
  bool leader = false;
  {
    LockGuard guard(mutex_);
    if (!force && (reserved_ > entries_.count() || notices_ > 0 || waiting_threads_ > 0))
      return Status(EBUSY);
    closed_ = true;
    exs_event_t dropped;
    while (!entries_.empty()) take_front(dropped);
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
