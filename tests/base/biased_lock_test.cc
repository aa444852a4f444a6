// A lock with a bias holds others out as any lock does, whoever owns it, and work that is left to its holder is done.
// tests/models/biased_lock.pml explores the order of the steps; here the real one runs.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/biased_lock.h"

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/drive_lock.h"
#include "base/read_section.h"

using namespace exs;

namespace biased_lock_test {

struct Fixture {
  Fixture() { ProcessBarrier::prepare(); }
};

// Turns in a row that surely earn the bias.
constexpr int kManyTurns = 1000;

template <LockWait kWait>
void take_turns(BiasedLock<kWait>& lock, int turns) {
  { const ReadSection section; }  // gives the thread a record
  for (int i = 0; i < turns; ++i) LockGuard guard(lock);
}

// The lock of a holder that carries out what others leave to it, as a shard's does.
template <LockWait kWait>
class Office {
 public:
  void leave_work() EXS_NO_THREAD_SAFETY_ANALYSIS {
    left_.fetch_add(1, std::memory_order_seq_cst);
    if (lock_.try_lock()) work_and_release();
  }
  void look() EXS_NO_THREAD_SAFETY_ANALYSIS {
    if (lock_.try_lock()) work_and_release();
  }
  void wait_and_look() EXS_NO_THREAD_SAFETY_ANALYSIS {
    lock_.lock();
    work_and_release();
  }
  [[nodiscard]] int done() const { return done_; }
  [[nodiscard]] int met() const { return met_; }

 private:
  void work_and_release() EXS_NO_THREAD_SAFETY_ANALYSIS {
    bool more = true;
    while (more) {
      if (inside_ != 0) ++met_;
      inside_ = 1;
      done_ = done_ + left_.exchange(0, std::memory_order_seq_cst);
      inside_ = 0;
      lock_.unlock();
      more = left_.load(std::memory_order_seq_cst) != 0 && lock_.try_lock();
    }
  }

  BiasedLock<kWait> lock_;
  std::atomic<int> left_{0};
  volatile int done_ = 0;
  volatile int inside_ = 0;
  int met_ = 0;
};

template <LockWait kWait>
void nothing_that_is_left_is_lost() {
  constexpr int kPosters = 3;
  constexpr int kPosts = 300;
  Office<kWait> office;
  std::atomic<int> running{kPosters};
  std::vector<std::thread> posters;
  for (int poster = 0; poster < kPosters; ++poster) {
    posters.emplace_back([&, poster] {
      { const ReadSection section; }
      for (int i = 0; i < kPosts; ++i) {
        office.leave_work();
        // Sometimes alone for long enough to become the owner, sometimes one that waits.
        for (int j = 0; j < 200 * poster; ++j) office.look();
        if (i % 16 == poster) office.wait_and_look();
      }
      --running;
    });
  }
  { const ReadSection section; }
  while (running > 0) office.look();
  for (std::thread& poster : posters) poster.join();
  BOOST_TEST(office.done() == kPosters * kPosts);
  BOOST_TEST(office.met() == 0);
}

}  // namespace biased_lock_test

BOOST_FIXTURE_TEST_SUITE(biased_lock_test, Fixture)

BOOST_AUTO_TEST_CASE(an_owner_holds_others_out_and_gives_way) {
  DriveLock lock;
  take_turns(lock, kManyTurns);
  lock.lock();
  std::thread([&]() EXS_NO_THREAD_SAFETY_ANALYSIS {
    const bool taken = lock.try_lock();
    BOOST_TEST(!taken);
  }).join();
  lock.unlock();
  std::thread([&]() EXS_NO_THREAD_SAFETY_ANALYSIS {
    const bool taken = lock.try_lock();
    BOOST_TEST(taken);
    if (taken) lock.unlock();
  }).join();
}

BOOST_AUTO_TEST_CASE(a_thread_that_waits_for_an_owner_gets_the_lock) {
  DriveLock lock;
  take_turns(lock, kManyTurns);
  std::atomic<bool> began{false};
  std::atomic<int> turns{0};
  lock.lock();
  std::thread waiter([&] {
    began = true;
    began.notify_all();
    LockGuard guard(lock);
    ++turns;
  });
  began.wait(false);
  BOOST_TEST(turns == 0);
  lock.unlock();
  waiter.join();
  BOOST_TEST(turns == 1);
}

BOOST_AUTO_TEST_CASE(what_is_left_to_the_holder_is_done) {
  for (int round = 0; round < 10; ++round) {
    nothing_that_is_left_is_lost<LockWait::kAsleep>();
    nothing_that_is_left_is_lost<LockWait::kAwake>();
  }
}

BOOST_AUTO_TEST_CASE(a_thread_owns_as_many_locks_as_its_record_has_places_for) {
  std::vector<std::unique_ptr<DriveLock>> locks;
  for (std::size_t i = 0; i < 3 * ThreadRecord::kPlaces; ++i) {
    locks.push_back(std::make_unique<DriveLock>());
    take_turns(*locks.back(), kManyTurns);
  }
  // All of them work, and places come back.
  for (auto& lock : locks) LockGuard guard(*lock);
  std::thread([&] {
    for (auto& lock : locks) LockGuard guard(*lock);
  }).join();
  for (auto& lock : locks) take_turns(*lock, kManyTurns);
  locks.clear();
  const ThreadRecord& mine = *ThreadRecord::mine();
  BOOST_TEST(mine.given == 0U);
}

BOOST_AUTO_TEST_CASE(a_later_thread_takes_over_what_a_thread_owned) {
  DriveLock lock;
  std::thread([&] { take_turns(lock, kManyTurns); }).join();
  std::thread([&] { take_turns(lock, kManyTurns); }).join();
  LockGuard guard(lock);
}

BOOST_AUTO_TEST_SUITE_END()
