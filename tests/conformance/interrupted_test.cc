// Every call that waits ends with EINTR when a signal is caught, and loses nothing by it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <csignal>

#include <cerrno>

#include "tests/conformance/test_bed.h"

namespace exs::test {
namespace interrupted_test {

void ignore_quietly(int) {}

struct Fixture {
  Fixture() {
    struct sigaction action {};
    action.sa_handler = ignore_quietly;  // no SA_RESTART
    ::sigaction(SIGUSR1, &action, nullptr);
  }
  TestBed test_bed;
};

struct Waiting {
  const char* function;
  int error;
  int (*call)(TestBed&);
  void (*prepare)(TestBed&);
};

std::ostream& operator<<(std::ostream& out, const Waiting& waiting) {
  return out << waiting.function;
}

void connect_pair(TestBed& w) {
  w.connected();
}

const Waiting kWaiting[] = {
    {"exs_qdequeue", EINTR,
     [](TestBed& w) {
       exs_event_t event;
       return exs_qdequeue(w.q(), &event, 1, nullptr);
     },
     connect_pair},
    {"exs_qwait", EINTR,
     [](TestBed& w) {
       exs_event_t event;
       return exs_qwait(w.q(), &event, 1, 1, -1);
     },
     connect_pair},
    {"exs_connect_sync", EINTR,
     [](TestBed& w) { return exs_connect_sync(w.fresh(), w.name(), TestBed::kNameBytes); },
     [](TestBed& w) {
       w.listening();
       w.fresh();
     }},
    {"exs_accept_sync", EINTR, [](TestBed& w) { return exs_accept_sync(w.listening(), nullptr, nullptr); },
     [](TestBed& w) { w.listening(); }},
    {"exs_send_sync", EINTR,
     [](TestBed& w) {
       return static_cast<int>(exs_send_sync(w.connected(), w.at(), w.memory.size_bytes(), 0, w.mh()));
     },
     connect_pair},
    {"exs_recv_sync", EINTR,
     [](TestBed& w) { return static_cast<int>(exs_recv_sync(w.connected(), w.at(), 64, 0, w.mh())); },
     connect_pair},
    {"exs_recv_window", EINTR,
     [](TestBed& w) {
       return static_cast<int>(exs_recv_window(w.connected(), w.at(), 64, w.mh(), 64, 0, -1));
     },
     connect_pair},
    {"exs_recv_snapshot", EINTR,
     [](TestBed& w) {
       return static_cast<int>(exs_recv_snapshot(w.connected(), w.at(), 64, w.mh(), 0, 0, nullptr, -1));
     },
     connect_pair},
};

}  // namespace interrupted_test

BOOST_AUTO_TEST_SUITE(interrupted_test)

BOOST_DATA_TEST_CASE_F(Fixture, a_caught_signal_ends_the_wait, kWaiting, waiting) {
  waiting.prepare(test_bed);
  int result = 0;
  int error = 0;
  WaitingThread thread([&] {
    result = waiting.call(test_bed);
    error = errno;
  });
  thread.await_sleep();
  thread.interrupt(SIGUSR1);
  thread.join();
  BOOST_TEST(result == -1);
  BOOST_TEST(errno_name(error) == "EINTR");
}

// The update never ends, and no read of its counter is long enough to be interrupted by itself.
BOOST_FIXTURE_TEST_CASE(a_caught_signal_ends_the_tries_to_read_a_window, Fixture) {
  exs_window_begin(static_cast<exs_window_t*>(test_bed.at()));
  BOOST_REQUIRE_EQUAL(exs_send(test_bed.connected(), test_bed.at(), 4096, EXS_PERSISTENT, test_bed.q(),
                               nullptr, test_bed.mh()),
                      0);
  ssize_t result = 0;
  int error = 0;
  WaitingThread thread([&] {
    result = exs_recv_window(test_bed.peer(), test_bed.at(8192), 64, test_bed.mh(), 64, 0, -1);
    error = errno;
  });
  while (stats_of(test_bed.peer()).snapshot_retries < 10) ::sched_yield();
  thread.interrupt(SIGUSR1);
  thread.join();
  BOOST_TEST(result == -1);
  BOOST_TEST(errno_name(error) == "EINTR");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
