// A clock that advances only when all participating threads sleep, and then at once to the next deadline of
// one of them. Waits take no real time, and every timer fires at exactly its time.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "event/engine/sleeper.h"

namespace exs::test {

// The thread that creates it participates; another thread does from its first sleep until it ends. It
// outlives the shards that use it. Thread: any.
class VirtualTime final : public Sleeper {
 public:
  // `tick_ns`: how far each reading of the clock advances it, for threads that spin until a deadline.
  explicit VirtualTime(std::uint64_t tick_ns = 0) : tick_ns_(tick_ns) { join(); }
  ~VirtualTime() override { leave(); }
  VirtualTime(const VirtualTime&) = delete;
  VirtualTime& operator=(const VirtualTime&) = delete;

  [[nodiscard]] TimeSource source() {
    return {Clock([](void* time) { return static_cast<VirtualTime*>(time)->look(); }, this), *this};
  }
  [[nodiscard]] std::uint64_t now_ns() const { return now_ns_; }

  // The calling thread sleeps for this time, and nothing wakes it earlier.
  void pass(std::uint64_t ns) {
    while (ns > 0) [[maybe_unused]] const auto woken = sleep({}, ns, nullptr);
  }
  // Waits in real time until this many threads sleep.
  void await_sleepers(std::size_t count) {
    std::unique_lock guard(mutex_);
    changed_.wait(guard, [&] { return sleeps_.size() >= count; });
  }

  Result<int> sleep(std::span<pollfd> watched, std::uint64_t& left_ns, const sigset_t* signals) override {
    Sleep own{watched};
    std::vector<pollfd> polled(watched.begin(), watched.end());
    polled.push_back({own.kick.get(), POLLIN, 0});
    std::unique_lock guard(mutex_);
    join_locked();
    if (left_ns != kNoDeadline) own.until_ns = now_ns_ + left_ns;
    sleeps_.push_back(&own);
    changed_.notify_all();
    int error = 0;
    while (!is_ready(own) && now_ns_ < own.until_ns && error == 0) {
      move_if_all_sleep();
      if (is_ready(own) || now_ns_ >= own.until_ns) break;
      guard.unlock();
      if (::ppoll(polled.data(), polled.size(), nullptr, signals) < 0) error = errno;
      guard.lock();
      lower(own.kick.get());
    }
    std::erase(sleeps_, &own);
    if (own.until_ns != kNoDeadline) left_ns = own.until_ns > now_ns_ ? own.until_ns - now_ns_ : 0;
    if (error != 0) return failure(error);
    return ::poll(watched.data(), watched.size(), 0);
  }

  Result<std::unique_ptr<Alarm>> make_alarm() override { return std::make_unique<VirtualAlarm>(*this); }

 private:
  struct Sleep {
    explicit Sleep(std::span<pollfd> given) : watched(given) {}
    const std::span<pollfd> watched;
    std::uint64_t until_ns = kNoDeadline;
    UniqueFd kick{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};  // wakes the sleeper when the clock has advanced
  };

  class VirtualAlarm final : public Alarm {
   public:
    explicit VirtualAlarm(VirtualTime& time) : time_(time) {
      std::lock_guard guard(time_.mutex_);
      time_.alarms_.insert(this);
    }
    ~VirtualAlarm() override {
      std::lock_guard guard(time_.mutex_);
      time_.alarms_.erase(this);
    }
    VirtualAlarm(const VirtualAlarm&) = delete;
    VirtualAlarm& operator=(const VirtualAlarm&) = delete;

    [[nodiscard]] int descriptor() const noexcept override { return event_.get(); }
    void set(std::uint64_t after_ns) override {
      std::lock_guard guard(time_.mutex_);
      lower(event_.get());
      due_ns = time_.now_ns_ + after_ns;
    }
    void ring() override {
      std::lock_guard guard(time_.mutex_);
      go_off();
    }
    void clear() override { lower(event_.get()); }
    void go_off() {
      due_ns = kNoDeadline;
      raise(event_.get());
    }

    std::uint64_t due_ns = kNoDeadline;  // guarded by the mutex of its time

   private:
    VirtualTime& time_;
    const UniqueFd event_{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)};
  };

  // Ends the participation of a thread when the thread ends.
  struct Membership {
    ~Membership() {
      if (time != nullptr) time->leave();
    }
    VirtualTime* time = nullptr;
  };
  static Membership& membership() {
    thread_local Membership own;
    return own;
  }
  void join() {
    std::lock_guard guard(mutex_);
    join_locked();
  }
  void join_locked() {
    if (std::exchange(membership().time, this) != this) ++members_;
  }
  void leave() {
    membership().time = nullptr;
    std::lock_guard guard(mutex_);
    --members_;
    move_if_all_sleep();
  }

  static void raise(int event) {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(event, &one, sizeof one);
  }
  static void lower(int event) {
    std::uint64_t count = 0;
    [[maybe_unused]] const auto taken = ::read(event, &count, sizeof count);
  }
  static bool is_ready(const Sleep& sleep) {
    std::vector<pollfd> now(sleep.watched.begin(), sleep.watched.end());
    return ::poll(now.data(), now.size(), 0) > 0;
  }
  std::uint64_t look() { return now_ns_.fetch_add(tick_ns_) + tick_ns_; }

  // A thread whose descriptor is ready, or whose deadline has passed, counts as awake.
  void move_if_all_sleep() {
    if (sleeps_.size() < members_) return;
    std::uint64_t next_ns = kNoDeadline;
    for (const Sleep* sleep : sleeps_) {
      if (sleep->until_ns <= now_ns_ || is_ready(*sleep)) return;
      next_ns = std::min(next_ns, sleep->until_ns);
    }
    for (const VirtualAlarm* alarm : alarms_) next_ns = std::min(next_ns, alarm->due_ns);
    if (next_ns == kNoDeadline) return;  // a thread that does not participate must wake one of them
    now_ns_ = std::max(now_ns_.load(), next_ns);
    for (VirtualAlarm* alarm : alarms_) {
      if (alarm->due_ns <= now_ns_) alarm->go_off();
    }
    for (const Sleep* sleep : sleeps_) {
      if (sleep->until_ns <= now_ns_) raise(sleep->kick.get());
    }
  }

  const std::uint64_t tick_ns_;
  std::atomic<std::uint64_t> now_ns_{1'000'000'000};  // advanced under the mutex, and by readings
  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t members_ = 0;
  std::vector<Sleep*> sleeps_;
  std::set<VirtualAlarm*> alarms_;
};

}  // namespace exs::test
