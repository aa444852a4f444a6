// SPDX-License-Identifier: BSD-2-Clause
#include "base/condition.h"

#include <boost/test/unit_test.hpp>

#include <thread>
#include <vector>

#include "base/clock.h"

using exs::Condition;
using exs::LockGuard;
using exs::monotonic_ns;
using exs::Mutex;

namespace condition_test {

struct Turns {
  Mutex mutex;
  Condition changed;
  int turn EXS_GUARDED_BY(mutex) = 0;
};

// Adds to `turn` whenever it is odd or even, as `rest` says.
void take_turns(Turns& turns, int rest, int count) {
  for (int i = 0; i < count; ++i) {
    const LockGuard lock(turns.mutex);
    while (turns.turn % 2 != rest) turns.changed.wait(turns.mutex);
    ++turns.turn;
    turns.changed.notify_one();
  }
}

}  // namespace condition_test

BOOST_AUTO_TEST_SUITE(condition_test)

BOOST_AUTO_TEST_CASE(two_threads_take_turns) {
  constexpr int kTurns = 1000;
  Turns turns;
  std::thread other([&] { take_turns(turns, 1, kTurns); });
  take_turns(turns, 0, kTurns);
  other.join();
  const LockGuard lock(turns.mutex);
  BOOST_TEST(turns.turn == 2 * kTurns);
}

BOOST_AUTO_TEST_CASE(a_wait_ends_at_its_time_and_holds_the_mutex_then) {
  Turns turns;
  const std::uint64_t end_ns = monotonic_ns() + exs::kNsPerMs;
  const LockGuard lock(turns.mutex);
  while (turns.changed.wait_until(turns.mutex, end_ns)) continue;
  BOOST_TEST(monotonic_ns() >= end_ns);
  BOOST_TEST(!turns.changed.wait_until(turns.mutex, 0));
  ++turns.turn;
}

BOOST_AUTO_TEST_CASE(a_wait_without_end_is_ended_by_a_change) {
  Turns turns;
  std::vector<std::thread> waiting;
  for (const std::uint64_t end_ns : {UINT64_MAX, std::uint64_t{INT64_MAX}})
    waiting.emplace_back([&turns, end_ns] {
      const LockGuard lock(turns.mutex);
      while (turns.turn == 0) turns.changed.wait_until(turns.mutex, end_ns);
    });
  {
    const LockGuard lock(turns.mutex);
    ++turns.turn;
    turns.changed.notify_all();
  }
  for (std::thread& thread : waiting) thread.join();
}

BOOST_AUTO_TEST_SUITE_END()
