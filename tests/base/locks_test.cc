// Locks hold others out, and give way at their end.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/drive_lock.h"

#include <atomic>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/condition.h"

using namespace exs;

namespace locks_test {

// Threads that add to a plain number. Without the lock some additions are lost, and each turn takes long enough to be met.
template <typename Lock>
int sum_of_threads() {
  constexpr int kThreads = 4;
  constexpr int kAdditions = 20'000;
  Lock lock;
  int sum = 0;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&] {
      for (int i = 0; i < kAdditions; ++i) {
        LockGuard guard(lock);
        *const_cast<volatile int*>(&sum) = sum + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return sum - kThreads * kAdditions;
}

template <typename Lock>
bool is_free(Lock& lock) EXS_NO_THREAD_SAFETY_ANALYSIS {
  if (!lock.try_lock()) return false;
  lock.unlock();
  return true;
}

}  // namespace locks_test

BOOST_AUTO_TEST_SUITE(locks_test)

BOOST_AUTO_TEST_CASE(no_addition_under_a_lock_is_lost) {
  exs::ProcessBarrier::prepare();
  BOOST_TEST(sum_of_threads<DriveLock>() == 0);
  BOOST_TEST(sum_of_threads<BiasedLock<LockWait::kAwake>>() == 0);
  BOOST_TEST(sum_of_threads<LeafLock>() == 0);
  BOOST_TEST(sum_of_threads<Mutex>() == 0);
}

BOOST_AUTO_TEST_CASE(a_guard_holds_until_its_end) {
  DriveLock drive;
  LeafLock leaf;
  {
    const LockGuard guard(drive);
    const LockGuard leaf_guard(leaf);
    BOOST_TEST(!is_free(drive));
    BOOST_TEST(!is_free(leaf));
  }
  BOOST_TEST(is_free(drive));
  BOOST_TEST(is_free(leaf));
}

BOOST_AUTO_TEST_CASE(a_guard_takes_over_what_was_locked_by_a_try) {
  LeafLock leaf;
  BOOST_REQUIRE(leaf.try_lock());
  {
    const LockGuard guard(leaf, std::adopt_lock);
    BOOST_TEST(!is_free(leaf));
  }
  BOOST_TEST(is_free(leaf));
}

BOOST_AUTO_TEST_CASE(a_thread_that_sleeps_for_the_drive_lock_gets_it) {
  DriveLock drive;
  std::atomic<int> turns{0};
  drive.lock();
  std::thread sleeper([&] {
    const LockGuard guard(drive);
    ++turns;
  });
  BOOST_TEST(turns == 0);
  drive.unlock();
  sleeper.join();
  BOOST_TEST(turns == 1);
  BOOST_TEST(is_free(drive));
}

BOOST_AUTO_TEST_CASE(a_condition_wakes_who_waits_and_gives_the_mutex_back) {
  Mutex mutex;
  Condition condition;
  bool ready = false;
  bool seen = false;
  std::thread waiter([&] {
    const LockGuard guard(mutex);
    while (!ready) condition.wait(mutex);
    mutex.assert_held();
    seen = true;
  });
  {
    const LockGuard guard(mutex);
    ready = true;
  }
  condition.notify_all();
  waiter.join();
  BOOST_TEST(seen);
}

BOOST_AUTO_TEST_CASE(a_wait_whose_time_is_over_returns_false) {
  Mutex mutex;
  Condition condition;
  const LockGuard guard(mutex);
  BOOST_TEST(!condition.wait_until(mutex, 0));
  BOOST_TEST(!condition.wait_until(mutex, 1));
  mutex.assert_held();
}

BOOST_AUTO_TEST_SUITE_END()
