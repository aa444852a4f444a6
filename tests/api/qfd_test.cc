// exs_qfd: a queue in an epoll loop.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <poll.h>
#include <sys/epoll.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "base/unique_fd.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace qfd_test {

constexpr int kHangLimitMs = kHangLimitSeconds * 1000;

struct Fixture {
  InitializedLibrary library;
  Queue sending;
  Queue queue;
  Memory memory{4096};
  Pair pair{sending};
  const int descriptor = exs_qfd(queue.handle());
  const UniqueFd set{::epoll_create1(EPOLL_CLOEXEC)};

  Fixture() {
    epoll_event wish{};
    wish.events = EPOLLIN;
    BOOST_REQUIRE_EQUAL(::epoll_ctl(set.get(), EPOLL_CTL_ADD, descriptor, &wish), 0);
  }

  void message() {
    const auto receive = [&] {
      return exs_recv(pair.right, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle());
    };
    // The queue may be full until the threads have taken events.
    while (receive() != 0) {
      BOOST_REQUIRE_EQUAL(errno_name(errno), "EAGAIN");
      std::this_thread::yield();
    }
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(8), 8, 0, sending.handle(), nullptr, memory.handle()),
                        0);
    BOOST_REQUIRE_EQUAL(sending.next_outcome(pair.left, EXS_EVT_SEND), "0");
  }
  [[nodiscard]] int ready(int limit_ms) const {
    epoll_event event{};
    return ::epoll_wait(set.get(), &event, 1, limit_ms);
  }
  int take(int count) {
    exs_event_t events[16];
    return exs_qwait(queue.handle(), events, count, 1, 0);
  }
};

}  // namespace qfd_test

BOOST_FIXTURE_TEST_SUITE(qfd_test, Fixture)

BOOST_AUTO_TEST_CASE(the_descriptor_is_the_same_each_time_and_closed_on_exec) {
  BOOST_TEST(descriptor >= 0);
  BOOST_TEST(exs_qfd(queue.handle()) == descriptor);
  BOOST_TEST(exs_qfd(sending.handle()) != descriptor);
}

BOOST_AUTO_TEST_CASE(it_is_readable_while_events_are_there_and_only_then) {
  BOOST_TEST(ready(0) == 0);
  message();
  BOOST_TEST(ready(kHangLimitMs) == 1);
  BOOST_TEST(ready(0) == 1);  // level-triggered
  BOOST_TEST(take(1) == 1);
  BOOST_TEST(ready(0) == 0);
}

BOOST_AUTO_TEST_CASE(it_stays_readable_until_the_last_event_is_taken) {
  for (int i = 0; i < 3; ++i) message();
  while (attribute(queue.handle(), EXS_QATTR_EVENTS) < 3) std::this_thread::yield();
  BOOST_TEST(take(2) == 2);
  BOOST_TEST(ready(0) == 1);
  BOOST_TEST(take(2) == 1);
  BOOST_TEST(ready(0) == 0);
}

// An edge comes when the queue gets its first event; one for each of them would cost a system call each.
BOOST_AUTO_TEST_CASE(edge_triggered_it_tells_anew_once_the_queue_has_been_empty) {
  epoll_event wish{};
  wish.events = EPOLLIN | EPOLLET;
  BOOST_REQUIRE_EQUAL(::epoll_ctl(set.get(), EPOLL_CTL_MOD, descriptor, &wish), 0);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 3; ++i) message();
    while (attribute(queue.handle(), EXS_QATTR_EVENTS) < 3) std::this_thread::yield();
    BOOST_TEST(ready(kHangLimitMs) == 1);
    BOOST_TEST(take(1) == 1);
    BOOST_TEST(ready(0) == 0);  // though two are left
    message();
    while (attribute(queue.handle(), EXS_QATTR_EVENTS) < 3) std::this_thread::yield();
    BOOST_TEST(ready(0) == 0);  // and when another comes
    BOOST_TEST(take(4) == 3);   // less than asked for: the queue is empty
  }
}

BOOST_AUTO_TEST_CASE(asked_for_late_it_knows_of_events_that_wait) {
  Queue late;
  BOOST_REQUIRE_EQUAL(exs_recv(pair.left, memory.at(), 8, 0, late.handle(), nullptr, memory.handle()), 0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.right, memory.at(8), 8, 0, sending.handle(), nullptr, memory.handle()),
                      0);
  while (attribute(late.handle(), EXS_QATTR_EVENTS) < 1) std::this_thread::yield();
  pollfd watched{exs_qfd(late.handle()), POLLIN, 0};
  BOOST_TEST(::poll(&watched, 1, 0) == 1);
  BOOST_TEST(late.next_outcome(pair.left, EXS_EVT_RECV) == "0");
  BOOST_TEST(::poll(&watched, 1, 0) == 0);
}

BOOST_AUTO_TEST_CASE(an_epoll_loop_gets_every_event_without_any_other_thread_driving) {
  constexpr int kMessages = 300;
  int taken = 0;
  for (int i = 0; i < kMessages; ++i) {
    message();
    BOOST_REQUIRE_EQUAL(ready(kHangLimitMs), 1);
    taken += take(16);
  }
  BOOST_TEST(taken == kMessages);
}

BOOST_AUTO_TEST_CASE(a_loop_survives_a_thread_that_steals_events) {
  constexpr int kMessages = 500;
  std::atomic<int> taken{0};
  const auto take_one = [&] {
    exs_event_t event{};
    if (exs_qwait(queue.handle(), &event, 1, 1, 0) == 1) ++taken;
  };
  std::thread thief([&] {
    while (taken < kMessages) take_one();
  });
  std::thread loop([&] {
    while (taken < kMessages) {
      if (ready(10) == 1) take_one();
    }
  });
  for (int i = 0; i < kMessages; ++i) message();
  thief.join();
  loop.join();
  BOOST_TEST(taken == kMessages);
  BOOST_TEST(ready(0) == 0);
}

BOOST_AUTO_TEST_CASE(deleting_the_queue_closes_the_descriptor) {
  const exs_qhandle_t other = exs_qcreate(1);
  await_engines();
  const std::size_t before = open_descriptors();
  BOOST_TEST(exs_qfd(other) >= 0);
  BOOST_TEST(open_descriptors() == before + 1);
  BOOST_TEST(exs_qdelete(other) == 0);
  BOOST_TEST(open_descriptors() < before);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
