// exs_qdequeue and exs_qwait: counts, time limits, errors.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <climits>
#include <cstdint>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace dequeue_test {

const timeval kZero{};
const timeval kMillisecond{0, 1000};

struct Fixture {
  InitializedLibrary library;
  Queue other;
  Queue queue{16};
  Memory memory{4096};
  Pair pair{other};
  exs_event_t events[EXS_EVTVEC_MAX] = {};

  // Puts `count` events into the queue: ahandle 1, 2, ...
  void produce(int count) {
    for (int i = 0; i < count; ++i) {
      const auto handle = reinterpret_cast<exs_ahandle_t>(static_cast<std::uintptr_t>(++produced_));
      BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), 8, 0, queue.handle(), handle, memory.handle()),
                          0);
      BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(8), 8, 0, other.handle(), nullptr, memory.handle()),
                          0);
      BOOST_TEST(other.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    }
    // The events come in order, so they are all there when the last one is.
    while (attribute(queue.handle(), EXS_QATTR_EVENTS) !=
           attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS)) {
    }
  }
  int dequeue(int count, const timeval* timeout) {
    return exs_qdequeue(queue.handle(), events, count, timeout);
  }
  std::uintptr_t number(int index) { return reinterpret_cast<std::uintptr_t>(events[index].exs_evt_ahandle); }

 private:
  int produced_ = 0;
};

}  // namespace dequeue_test

BOOST_FIXTURE_TEST_SUITE(dequeue_test, Fixture)

BOOST_AUTO_TEST_CASE(a_positive_count_takes_what_is_there_in_order) {
  produce(5);
  BOOST_TEST(dequeue(3, nullptr) == 3);
  BOOST_TEST(number(0) == 1U);
  BOOST_TEST(number(2) == 3U);
  BOOST_TEST(dequeue(16, nullptr) == 2);
  BOOST_TEST(number(1) == 5U);
}

BOOST_AUTO_TEST_CASE(a_negative_count_is_a_threshold) {
  produce(3);
  BOOST_TEST(dequeue(-2, nullptr) == 2);
  BOOST_TEST(number(1) == 2U);
  int taken = 0;
  WaitingThread waiting([&] { taken = dequeue(-3, nullptr); });
  waiting.await_sleep();
  produce(2);
  waiting.join();
  BOOST_TEST(taken == 3);
  BOOST_TEST(number(0) == 3U);
  BOOST_TEST(number(2) == 5U);
}

BOOST_AUTO_TEST_CASE(a_threshold_not_reached_in_time_gives_what_is_there) {
  produce(2);
  BOOST_TEST(dequeue(-3, &kMillisecond) == 2);
  BOOST_TEST(number(1) == 2U);
  produce(1);
  BOOST_TEST(dequeue(-3, &kZero) == 1);
  BOOST_TEST(number(0) == 3U);
}

BOOST_AUTO_TEST_CASE(zero_returns_at_once_and_takes_nothing) {
  produce(1);
  BOOST_TEST(dequeue(0, nullptr) == 0);
  BOOST_TEST(exs_qdequeue(queue.handle(), nullptr, 0, nullptr) == 0);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_EVENTS) == 1);
}

BOOST_AUTO_TEST_CASE(counts_beyond_the_limits_are_refused) {
  for (const int count : {-17, EXS_EVTVEC_MAX + 1, -EXS_EVTVEC_MAX - 1, INT_MAX, INT_MIN}) {
    BOOST_TEST(outcome(dequeue(count, &kZero)) == "EINVAL");
  }
  BOOST_TEST(dequeue(-16, &kZero) == 0);
  const Queue deep(2000);
  BOOST_TEST(outcome(exs_qdequeue(deep.handle(), events, EXS_EVTVEC_MAX + 1, &kZero)) == "EINVAL");
  BOOST_TEST(exs_qdequeue(deep.handle(), events, EXS_EVTVEC_MAX, &kZero) == 0);
}

BOOST_AUTO_TEST_CASE(a_count_above_the_depth_takes_what_is_there) {
  BOOST_TEST(dequeue(17, &kZero) == 0);
  produce(16);
  BOOST_TEST(dequeue(64, nullptr) == 16);
  BOOST_TEST(number(15) == 16U);
  produce(3);
  BOOST_TEST(exs_qwait(queue.handle(), events, 64, 2, -1) == 3);
}

BOOST_AUTO_TEST_CASE(no_room_for_events_is_efault_and_none_is_lost) {
  produce(1);
  BOOST_TEST(outcome(exs_qdequeue(queue.handle(), nullptr, 1, nullptr)) == "EFAULT");
  BOOST_TEST(outcome(exs_qwait(queue.handle(), nullptr, 1, 1, -1)) == "EFAULT");
  BOOST_TEST(dequeue(1, nullptr) == 1);
}

BOOST_AUTO_TEST_CASE(bad_time_limits_are_refused_and_none_is_lost) {
  produce(1);
  for (const timeval bad : {timeval{-1, 0}, timeval{0, -1}, timeval{0, 1'000'000}, timeval{1, LONG_MAX}}) {
    BOOST_TEST(outcome(dequeue(1, &bad)) == "EINVAL");
  }
  BOOST_TEST(dequeue(1, nullptr) == 1);
}

BOOST_AUTO_TEST_CASE(a_time_limit_beyond_every_clock_is_none) {
  for (const long seconds : {LONG_MAX, LONG_MAX / 2, 18'446'744'073L, 18'446'744'072L}) {
    const timeval endless{seconds, 999'999};
    produce(1);
    BOOST_TEST(dequeue(1, &endless) == 1);
  }
  int taken = 0;
  WaitingThread waiting([&] { taken = exs_qwait(queue.handle(), events, 1, 1, INT64_MAX); });
  waiting.await_sleep();
  produce(1);
  waiting.join();
  BOOST_TEST(taken == 1);
}

BOOST_AUTO_TEST_CASE(an_empty_queue_gives_none_when_the_time_is_over) {
  for (const int mode : {EXS_WAIT_ADAPTIVE, EXS_WAIT_NOTIFY, EXS_WAIT_BUSY_POLL}) {
    BOOST_TEST(exs_qmodify(queue.handle(), EXS_QATTR_WAIT, &mode, sizeof mode) == 0);
    BOOST_TEST(dequeue(1, &kZero) == 0);
    BOOST_TEST(dequeue(1, &kMillisecond) == 0);
    BOOST_TEST(dequeue(-4, &kMillisecond) == 0);
    BOOST_TEST(exs_qwait(queue.handle(), events, 4, 2, 1) == 0);
  }
}

BOOST_AUTO_TEST_CASE(wait_takes_at_most_max_once_min_are_there) {
  produce(5);
  BOOST_TEST(exs_qwait(queue.handle(), events, 3, 2, -1) == 3);
  BOOST_TEST(exs_qwait(queue.handle(), events, 10, 3, 1000) == 2);
  BOOST_TEST(number(1) == 5U);
}

BOOST_AUTO_TEST_CASE(wait_for_none_looks_and_does_not_wait) {
  BOOST_TEST(exs_qwait(queue.handle(), events, 4, 0, -1) == 0);
  produce(2);
  BOOST_TEST(exs_qwait(queue.handle(), events, 4, 0, -1) == 2);
}

BOOST_AUTO_TEST_CASE(wait_checks_its_limits) {
  BOOST_TEST(outcome(exs_qwait(queue.handle(), events, -1, 0, 0)) == "EINVAL");
  BOOST_TEST(outcome(exs_qwait(queue.handle(), events, 1, -1, 0)) == "EINVAL");
  BOOST_TEST(outcome(exs_qwait(queue.handle(), events, 1, 2, 0)) == "EINVAL");
  BOOST_TEST(outcome(exs_qwait(queue.handle(), events, 0, 1, 0)) == "EINVAL");
  BOOST_TEST(outcome(exs_qwait(queue.handle(), events, 17, 17, 0)) == "EINVAL");
  BOOST_TEST(outcome(exs_qwait(queue.handle(), events, INT_MAX, INT_MIN, 0)) == "EINVAL");
  BOOST_TEST(exs_qwait(queue.handle(), events, 0, 0, -1) == 0);
}

BOOST_AUTO_TEST_CASE(events_arrive_while_nobody_waits) {
  // Nothing but the engine thread moves this message from here on.
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), 4096, 0, queue.handle(), nullptr, memory.handle()),
                      0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), 4096, 0, other.handle(), nullptr, memory.handle()), 0);
  while (attribute(queue.handle(), EXS_QATTR_EVENTS) == 0 ||
         attribute(other.handle(), EXS_QATTR_EVENTS) == 0) {
  }
  BOOST_TEST(dequeue(1, &kZero) == 1);
  BOOST_TEST(other.next_outcome(pair.left, EXS_EVT_SEND) == "0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
