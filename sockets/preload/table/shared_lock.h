// A lock in memory of the family.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <mutex>

#include "base/annotations.h"
#include "base/check.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {

// Robust: the next owner learns that a process died with it.
struct EXS_CAPABILITY("slot lock") SharedLock {
  pthread_mutex_t mutex;
  bool owner_died;  // the damage is not repaired yet (ends.h)

  // The slot is new.
  void make() noexcept;
  // False: this thread holds the lock already.
  bool acquire() noexcept EXS_TRY_ACQUIRE(true);
  // Does not wait. False: a thread holds it.
  bool try_acquire() noexcept EXS_TRY_ACQUIRE(true);
  void release() noexcept EXS_RELEASE() { pthread_mutex_unlock(&mutex); }
  // Debug builds check it.
  void assert_held() const noexcept EXS_ASSERT_CAPABILITY(this) {
    EXS_DEBUG_CHECK(mutex.__data.__owner == raw::sys(SYS_gettid));
  }

 private:
  bool is_taken(int error) noexcept;
};

// Holds a lock of a slot. After the death of an owner, only what the owner published counts.
class EXS_SCOPED_CAPABILITY SlotLock {
 public:
  explicit SlotLock(SharedLock& shared) noexcept EXS_ACQUIRE(shared);
  // Does not wait; held() is false if the lock is taken.
  SlotLock(SharedLock& shared, std::try_to_lock_t) noexcept EXS_ACQUIRE(shared);
  ~SlotLock() EXS_RELEASE() { give_back(); }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;
  // False: this thread holds the lock already, in the code that a signal handler has interrupted.
  [[nodiscard]] bool held() const noexcept { return held_; }
  void unlock() noexcept EXS_RELEASE() {
    give_back();
    held_ = false;
  }
  void lock() noexcept EXS_ACQUIRE();

 private:
  // The analysis takes a lock that is not held() for held. Callers ask, and leave everything alone.
  void give_back() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
    if (held_) lock_.release();
  }

  SharedLock& lock_;
  bool held_ = false;
};

}  // namespace exs::sockets
