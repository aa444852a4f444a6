// An event queue. A post reserves a slot before anything else happens and keeps it until its event is
// dequeued, so push() always finds room.
//
// Sleepers. A thread that waits for this queue sleeps in one of two places: as leader, on the descriptors of
// its home shard, or as follower, on this queue's own descriptor. push() wakes the sleepers for whom enough
// events are there. A thread announces itself and reads the count in the same critical section, so no wake-up
// is lost.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/drive_lock.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "event/queue/brief_looks.h"
#include "event/queue/far_shards.h"
#include "event/queue/spin_choice.h"
#include "event/queue/wait_line.h"
#include "event/queue/waiting_events.h"
#include "exs/exs.h"
#include "src/proto/operation.h"

namespace exs {

class SummedEvent;

// Thread: any.
class EventQueue final : public NumberKeeper {
 public:
  // Two wake-ups across cores, of some 25 us each on a small virtual machine.
  static constexpr std::uint64_t kDefaultSpinNs = 50'000;

  EventQueue(std::size_t depth, std::shared_ptr<Shard> home);
  ~EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  // Requires that a shared pointer owns the queue.
  [[nodiscard]] std::shared_ptr<EventQueue> shared_from_this() {
    return std::static_pointer_cast<EventQueue>(NumberKeeper::shared_from_this());
  }
  bool await_events(KernelDescriptor::Events& events) noexcept override EXS_EXCLUDES(mutex_) {
    LockGuard guard(mutex_);
    return events.await();
  }

  // False: no slot is free. A reserved slot needs no more memory.
  [[nodiscard]] bool reserve() EXS_EXCLUDES(mutex_);
  // Likewise, but then `waiter` is in the line for a slot.
  [[nodiscard]] bool reserve_or_wait(const std::shared_ptr<WaitLine::Waiter>& waiter) EXS_EXCLUDES(mutex_);
  // Wakes the next waiter, if a slot is free.
  void pass_on() EXS_EXCLUDES(mutex_);
  void cancel_reservation() EXS_EXCLUDES(mutex_);
  // Fills a reserved slot. `number` keeps the descriptor number in the event from being used again.
  void push(const exs_event_t& event, const std::shared_ptr<KernelDescriptor>& number) EXS_EXCLUDES(mutex_) {
    mutex_.lock();
    (number ? events_.append_holding({DescriptorHold(number.get()), nullptr}) : events_.append(nullptr)) =
        event;
    added();
    unlock_and_notify();
  }
  // Likewise for the event of a transfer, which `make` writes completely, in place.
  template <typename Make>
  void push_made(Make&& make, const std::shared_ptr<KernelDescriptor>& number) EXS_EXCLUDES(mutex_) {
    mutex_.lock();
    std::forward<Make>(make)(append(number));
    added();
    unlock_and_notify();
  }

  // Fills a slot that is free with the event of an operation which `act` carries out. False: no slot is free, or `act` returned false;
  // then nothing has changed. `act` runs with the lock of the queue held, and does not throw.
  template <typename Act, typename Make>
  [[nodiscard]] bool push_at_once(Act&& act, Make&& make, const std::shared_ptr<KernelDescriptor>& number)
      EXS_EXCLUDES(mutex_) {
    mutex_.lock();
    if (!has_slot_at_once() || !std::forward<Act>(act)()) {
      mutex_.unlock();
      return false;
    }
    ++reserved_;
    std::forward<Make>(make)(append(number));
    added();
    unlock_and_notify();
    return true;
  }
  // Likewise without an event: `act` runs if a slot is free.
  template <typename Act>
  [[nodiscard]] bool do_if_free(Act&& act) EXS_EXCLUDES(mutex_) {
    LockGuard guard(mutex_);
    return has_free_slot() && std::forward<Act>(act)();
  }
  // As reserve(), where that needs no memory.
  [[nodiscard]] bool reserve_at_once() noexcept EXS_EXCLUDES(mutex_) {
    LockGuard guard(mutex_);
    if (!has_slot_at_once()) return false;
    ++reserved_;
    return true;
  }

  // Reserves a slot for a Notice, which keeps it even while none of its events waits.
  [[nodiscard]] bool reserve_for_notice() EXS_EXCLUDES(mutex_);
  void report(SummedEvent& notice, const proto::Usage& usage) EXS_EXCLUDES(mutex_);
  void end_notice(SummedEvent& notice) EXS_EXCLUDES(mutex_);

  // Events wait, as far as can be seen without the lock.
  [[nodiscard]] bool has_events() const noexcept { return count_.load(std::memory_order_relaxed) != 0; }
  // Takes up to `max` events if there are at least `min`, else none.
  std::size_t take(exs_event_t* out, std::size_t min, std::size_t max) EXS_EXCLUDES(mutex_);

  // Frees the slots of so many events that went straight to the caller.
  void took_directly(std::size_t events) EXS_EXCLUDES(mutex_) {
    mutex_.lock();
    reserved_ -= events;
    const bool awaited = awaited_;
    mutex_.unlock();
    if (awaited) pass_on();
  }

  // True: there are at least `min` events, or none will come because the queue is closed.
  [[nodiscard]] bool is_due(std::size_t min) EXS_EXCLUDES(mutex_);

  // Announces a sleeper that wants `min` events. False: they are there, or the queue is closed: do not sleep.
  [[nodiscard]] bool sleep_as_leader(std::size_t min) EXS_EXCLUDES(mutex_);
  [[nodiscard]] bool sleep_as_follower(std::size_t min) EXS_EXCLUDES(mutex_);
  void awake_as_leader() EXS_EXCLUDES(mutex_);
  void awake_as_follower(std::size_t min) EXS_EXCLUDES(mutex_);  // `min`: as announced
  [[nodiscard]] int follower_fd() const noexcept { return follower_fd_.get(); }

  // A descriptor that is readable while there are events that no thread is about to take. Created by the first call.
  Result<int> ready_fd() EXS_EXCLUDES(mutex_);
  [[nodiscard]] bool has_ready_fd() const noexcept { return has_ready_fd_.load(std::memory_order_relaxed); }

  Status set_depth(std::size_t depth) EXS_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t depth() const noexcept { return depth_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::size_t events() EXS_EXCLUDES(mutex_);
  [[nodiscard]] std::size_t reserved() EXS_EXCLUDES(mutex_);

  [[nodiscard]] int wait_mode() const noexcept { return wait_mode_.load(std::memory_order_relaxed); }
  void set_wait_mode(int mode) noexcept { wait_mode_.store(mode, std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t spin_ns() const noexcept { return spin_ns_.load(std::memory_order_relaxed); }
  void set_spin_ns(std::uint64_t spin_ns) noexcept { spin_ns_.store(spin_ns, std::memory_order_relaxed); }

  [[nodiscard]] SpinChoice& spin_choice() noexcept { return spin_choice_; }

  // A signal to the process whenever the queue stops being empty.
  void set_signal(const exs_signal_t& signal) EXS_EXCLUDES(mutex_);
  [[nodiscard]] exs_signal_t signal() EXS_EXCLUDES(mutex_);

  // If threads that find events at once never looked at the shard, all arrivals would be left to the engine, and the two would
  // contend for the shard.
  [[nodiscard]] BriefLooks& brief_looks() noexcept { return brief_looks_; }

  [[nodiscard]] const std::shared_ptr<Shard>& home() const noexcept { return home_; }
  [[nodiscard]] FarShards& far_shards() noexcept { return far_shards_; }

  // EBUSY: operations name the queue or a thread waits on it (unless `force`). Later waits end at once.
  Status close(bool force) EXS_EXCLUDES(mutex_);
  [[nodiscard]] bool closed() EXS_EXCLUDES(mutex_);
  // Marks the calling thread as waiting for this queue.
  class WaitScope {
   public:
    explicit WaitScope(EventQueue& queue) : queue_(queue) { ++queue_.waiting_threads_; }
    ~WaitScope() { --queue_.waiting_threads_; }
    WaitScope(const WaitScope&) = delete;
    WaitScope& operator=(const WaitScope&) = delete;

   private:
    EventQueue& queue_;
  };
  // Marks the calling thread as one that takes each event as it comes, so its events need not raise the
  // descriptor. Raising it would cost two system calls an event while a thread asks again at once. A thread
  // that wants several events may leave some to others.
  class TakeScope {
   public:
    TakeScope(EventQueue& queue, std::size_t min)
        : queue_(min <= 1 && queue.has_ready_fd() ? &queue : nullptr) {
      if (queue_ != nullptr) queue_->begin_taking();
    }
    ~TakeScope() {
      if (queue_ != nullptr) queue_->end_taking();
    }
    TakeScope(const TakeScope&) = delete;
    TakeScope& operator=(const TakeScope&) = delete;

   private:
    EventQueue* const queue_;
  };

 private:
  // Recipients of a notification, once the mutex is free.
  struct Recipients {
    bool leader = false;
    bool followers = false;
    bool signalled = false;
    exs_signal_t signal{};
    std::shared_ptr<EventQueue> self;  // the thread that dequeues the event may delete the queue at once
  };
  [[nodiscard]] bool has_free_slot() const noexcept EXS_REQUIRES(mutex_) {
    return !closed_ && reserved_ < depth_.load(std::memory_order_relaxed);
  }
  // Likewise one whose event needs no more memory.
  [[nodiscard]] bool has_slot_at_once() const noexcept EXS_REQUIRES(mutex_) {
    return has_free_slot() && reserved_ < events_.capacity();
  }
  [[nodiscard]] bool take_slot() EXS_REQUIRES(mutex_);
  [[nodiscard]] bool has_recipients() const EXS_REQUIRES(mutex_) {
    return leader_sleeps_ || !follower_mins_.empty() || signal_.exs_sig_control == EXS_SIG_ENABLE;
  }
  [[nodiscard]] Recipients recipients() EXS_REQUIRES(mutex_);
  void added() EXS_REQUIRES(mutex_) {
    EXS_CHECK(events_.count() <= reserved_);
    count_.store(events_.count(), std::memory_order_relaxed);
    if (has_ready_fd_.load(std::memory_order_relaxed) && takers_ == 0) keep_ready_fd();
  }
  // Call it after an entry was added. Another thread may delete the queue as soon as the slot is free. So
  // nothing is touched after the unlock, unless there are recipients.
  void unlock_and_notify() EXS_RELEASE(mutex_) {
    if (has_recipients()) return unlock_and_wake();
    mutex_.unlock();
  }
  void unlock_and_wake() EXS_RELEASE(mutex_);
  // The waiter to wake, once the mutex is free, because slots have become free. Null: there is none.
  [[nodiscard]] std::shared_ptr<WaitLine::Waiter> next_waiter() EXS_REQUIRES(mutex_);
  // The next event, for the caller to fill in, which keeps its number.
  exs_event_t& append(const std::shared_ptr<KernelDescriptor>& number) EXS_REQUIRES(mutex_) {
    KernelDescriptor::Events* const counted = number->events_in(*this, id_);
    if (counted == nullptr) return events_.append_holding({DescriptorHold(number.get()), nullptr});
    counted->add();
    return events_.append(counted);
  }
  // Removes the event at the front and frees its slot, unless a notice keeps it.
  void take_front(exs_event_t& out) EXS_REQUIRES(mutex_);
  void take_held(exs_event_t& out) EXS_REQUIRES(mutex_);
  void begin_taking() EXS_EXCLUDES(mutex_);
  void end_taking() EXS_EXCLUDES(mutex_);
  void keep_ready_fd() EXS_REQUIRES(mutex_);
  [[nodiscard]] bool wants_sleep(std::size_t min) EXS_REQUIRES(mutex_);
  [[nodiscard]] bool followers_are_due() const EXS_REQUIRES(mutex_);
  void notify(const Recipients& recipients);

  static std::atomic<std::uint64_t> next_id_;

  const std::uint64_t id_ = next_id_.fetch_add(1, std::memory_order_relaxed);  // never another queue's
  const std::shared_ptr<Shard> home_;
  FarShards far_shards_;
  const UniqueFd follower_fd_;
  std::atomic<int> wait_mode_{EXS_WAIT_ADAPTIVE};  // written by exs_qmodify, read by waiting threads; a hint
  BriefLooks brief_looks_;
  std::atomic<std::uint64_t> spin_ns_{kDefaultSpinNs};  // likewise
  SpinChoice spin_choice_;
  // Written under the mutex, read without it by checks that may be a moment late.
  std::atomic<std::size_t> depth_;
  std::atomic<bool> has_ready_fd_{false};
  // close() may miss a thread that comes in, which then finds the queue closed.
  std::atomic<int> waiting_threads_{0};

  std::atomic<std::size_t> count_{0};  // of events_; written under the mutex, read without it

  BiasedLock<LockWait::kAwake> mutex_;
  WaitingEvents events_ EXS_GUARDED_BY(mutex_);
  std::size_t reserved_ EXS_GUARDED_BY(mutex_) = 0;  // events, pending operations and notices
  std::size_t notices_ EXS_GUARDED_BY(mutex_) = 0;   // not ended
  bool leader_sleeps_ EXS_GUARDED_BY(mutex_) = false;
  std::size_t leader_min_ EXS_GUARDED_BY(mutex_) = 0;
  std::vector<std::size_t> follower_mins_ EXS_GUARDED_BY(mutex_);  // of the followers asleep
  UniqueFd ready_fd_ EXS_GUARDED_BY(mutex_);
  bool is_raised_ EXS_GUARDED_BY(mutex_) = false;  // ready_fd_ is readable
  std::size_t takers_ EXS_GUARDED_BY(mutex_) = 0;  // threads in a TakeScope
  exs_signal_t signal_ EXS_GUARDED_BY(mutex_){};
  bool closed_ EXS_GUARDED_BY(mutex_) = false;
  bool awaited_ EXS_GUARDED_BY(mutex_) = false;  // the line may have waiters
  WaitLine line_ EXS_GUARDED_BY(mutex_);         // for a slot
};

}  // namespace exs
