#include "event/event_queue.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>

#include <algorithm>
#include <utility>

#include "event/notice.h"
#include "event/shard.h"

namespace exs {
namespace {

void raise_event(int descriptor) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(descriptor, &one, sizeof one);
}

void lower_event(int descriptor) {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto taken = ::read(descriptor, &count, sizeof count);
}

// Fails when the process has too many signals waiting, and then it will look anyway.
void send(const exs_signal_t& signal) {
  sigval value{};
  value.sival_ptr = signal.exs_sig_value;
  [[maybe_unused]] const int sent = ::sigqueue(::getpid(), signal.exs_sig_signo, value);
}

}  // namespace

EventQueue::EventQueue(std::size_t depth, std::shared_ptr<Shard> home)
    : home_(std::move(home)), follower_fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), depth_(depth) {}

bool EventQueue::reserve() {
  LockGuard guard(mutex_);
  if (closed_ || reserved_ >= depth_) return false;
  ++reserved_;
  return true;
}

void EventQueue::cancel_reservation() {
  const auto self = shared_from_this();  // with the slot free, another thread may delete the queue at once
  LockGuard guard(mutex_);
  --reserved_;
}

void EventQueue::push(const exs_event_t& event, std::shared_ptr<KernelDescriptor> number) {
  const auto self = shared_from_this();  // who dequeues the event may delete the queue at once
  Listeners due;
  {
    LockGuard guard(mutex_);
    due = add(Entry{event, std::move(number), nullptr});
  }
  tell(due);
}

EventQueue::Listeners EventQueue::add(Entry entry) {
  entries_.push_back(std::move(entry));
  EXS_CHECK(entries_.count() <= reserved_);
  if (ready_fd_.valid() && entries_.count() == 1) raise_event(ready_fd_.get());
  Listeners due{leader_sleeps_ && entries_.count() >= leader_min_, followers_are_due(), {}};
  if (entries_.count() == 1) due.signal = signal_;
  return due;
}

void EventQueue::tell(const Listeners& listeners) {
  if (listeners.leader) home_->wake_leader();
  if (listeners.followers) raise_event(follower_fd_.get());
  if (listeners.signal.exs_sig_control == EXS_SIG_ENABLE) send(listeners.signal);
}

// ---------------------------------------------------------------- notices

bool EventQueue::reserve_for_notice() {
  LockGuard guard(mutex_);
  if (closed_ || reserved_ >= depth_) return false;
  ++reserved_;
  ++notices_;
  return true;
}

void EventQueue::tell(Notice& notice, const proto::Usage& usage) {
  const auto self = shared_from_this();
  Listeners due;
  {
    LockGuard guard(mutex_);
    notice.add(usage);
    if (std::exchange(notice.waits_, true)) return;
    due = add(Entry{{}, notice.shared_from_this(), &notice});
  }
  tell(due);
}

void EventQueue::end_notice(Notice& notice) {
  LockGuard guard(mutex_);
  notice.ended_ = true;
  --notices_;
  if (!notice.waits_) --reserved_;
}

// ---------------------------------------------------------------- taking

std::size_t EventQueue::take(exs_event_t* out, std::size_t min, std::size_t max) {
  std::size_t taken = 0;
  {
    LockGuard guard(mutex_);
    if (entries_.count() < min || entries_.empty()) return 0;
    taken = std::min(max, entries_.count());
    for (std::size_t i = 0; i < taken; ++i) out[i] = take_front();
    if (ready_fd_.valid() && entries_.empty()) lower_event(ready_fd_.get());
  }
  return taken;
}

exs_event_t EventQueue::take_front() {
  // The number is let go with the entry; when it was the last holder this closes the kernel descriptor.
  const Entry entry = entries_.pop_front();
  Notice* const notice = entry.notice;
  if (notice == nullptr || notice->ended_) --reserved_;
  return notice == nullptr ? entry.event : notice->take();
}

bool EventQueue::wants_sleep(std::size_t min) {
  return !closed_ && entries_.count() < min;
}

bool EventQueue::followers_are_due() {
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
  // The wake-up of another follower that has not come round yet must stay.
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
    UniqueFd made(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!made.valid()) return failure(errno);
    if (!entries_.empty()) raise_event(made.get());
    ready_fd_ = std::move(made);
    has_ready_fd_ = true;
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
  LockGuard guard(mutex_);
  if (depth < reserved_) return Status(EBUSY);
  depth_ = depth;
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
    if (!force && (reserved_ > entries_.count() || notices_ > 0 || visitors_ > 0)) return Status(EBUSY);
    closed_ = true;
    while (!entries_.empty()) take_front();
    leader = leader_sleeps_;
  }
  tell({leader, true, {}});
  return Status();
}

bool EventQueue::closed() {
  LockGuard guard(mutex_);
  return closed_;
}

}  // namespace exs
