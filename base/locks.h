// The locks that need nothing of their threads, for the thread-safety analysis too: one for leaves, and mutexes.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "base/annotations.h"
#include "base/check.h"

namespace exs {

// Debug builds know which thread holds it.
class EXS_CAPABILITY("mutex") Mutex {
 public:
  void lock() EXS_ACQUIRE() {
    mutex_.lock();
    note_holder();
  }
  void unlock() EXS_RELEASE() {
    forget_holder();
    mutex_.unlock();
  }
  void assert_held() const EXS_ASSERT_CAPABILITY(this) {
#ifdef EXS_DEBUG
    EXS_CHECK(holder_.load(std::memory_order_relaxed) == ::pthread_self());
#endif
  }

 private:
  friend class Condition;  // condition.h

  void note_holder() {
#ifdef EXS_DEBUG
    holder_.store(::pthread_self(), std::memory_order_relaxed);
#endif
  }
  void forget_holder() {
#ifdef EXS_DEBUG
    holder_.store(pthread_t{}, std::memory_order_relaxed);
#endif
  }

  std::mutex mutex_;
#ifdef EXS_DEBUG
  // As that of DriveLock; a number, so that a mutex of the process needs no constructor (constinit).
  std::atomic<pthread_t> holder_{};
#endif
};

// A mutex that its holder may lock again, for callbacks of another library: one may begin a section, and another one end it.
class EXS_CAPABILITY("mutex") RecursiveMutex {
 public:
  void lock() EXS_ACQUIRE() { mutex_.lock(); }
  void unlock() EXS_RELEASE() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
};

// A lock for critical sections that are short or rare: one atomic step to lock and a plain store to unlock, where a mutex needs two
// atomic steps and two calls. Most sections are a few instructions that take no other lock and never wait; where one takes others, its
// header states the order (fabric/endpoint.h). The holder may be preempted, so a thread that waits ends up sleeping. The lock may be
// destroyed as soon as another thread can lock it. Thread: any.
class EXS_CAPABILITY("leaf lock") LeafLock {
 public:
  void lock() EXS_ACQUIRE() {
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  [[nodiscard]] bool try_lock() EXS_TRY_ACQUIRE(true) {
    return !held_.exchange(true, std::memory_order_acquire);
  }
  void unlock() EXS_RELEASE() { held_.store(false, std::memory_order_release); }

 private:
  void wait() const noexcept;

  std::atomic<bool> held_{false};
};

template <typename Lockable>
class EXS_SCOPED_CAPABILITY LockGuard {
 public:
  explicit LockGuard(Lockable& lock) EXS_ACQUIRE(lock) : lock_(lock) { lock_.lock(); }
  // The caller holds the lock already, by try_lock().
  LockGuard(Lockable& lock, std::adopt_lock_t /*held*/) EXS_REQUIRES(lock) : lock_(lock) {}
  ~LockGuard() EXS_RELEASE() { lock_.unlock(); }
  LockGuard(const LockGuard&) = delete;
  LockGuard& operator=(const LockGuard&) = delete;

 private:
  Lockable& lock_;
};

}  // namespace exs
