// Signals caught while a thread waits: EINTR in every wait mode, and no event lost.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/epoll.h>
#include <sys/time.h>

#include <atomic>
#include <cerrno>
#include <csignal>

#include "base/unique_fd.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace interrupt_test {

std::atomic<int> caught{0};
void note_signal(int) {
  caught.fetch_add(1);
}

const int kModes[] = {EXS_WAIT_ADAPTIVE, EXS_WAIT_NOTIFY, EXS_WAIT_BUSY_POLL};

struct Fixture {
  InitializedLibrary library;
  Queue other;
  Queue queue{16};
  Memory memory{64};
  Pair pair{other};
  exs_event_t events[16] = {};

  Fixture() {
    struct sigaction action {};
    action.sa_handler = note_signal;
    ::sigaction(SIGUSR1, &action, nullptr);
    ::sigaction(SIGALRM, &action, nullptr);
    caught = 0;
  }
  ~Fixture() {
    ::signal(SIGUSR1, SIG_DFL);
    ::signal(SIGALRM, SIG_DFL);
  }

  void set_mode(int mode) {
    BOOST_REQUIRE_EQUAL(exs_qmodify(queue.handle(), EXS_QATTR_WAIT, &mode, sizeof mode), 0);
  }
  void message() {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()), 0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), 8, 0, other.handle(), nullptr, memory.handle()), 0);
    BOOST_TEST(other.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  }
};

// A timer that sends SIGALRM to this process repeatedly.
class RepeatingAlarm {
 public:
  RepeatingAlarm() {
    const itimerval often{{0, 2000}, {0, 2000}};
    ::setitimer(ITIMER_REAL, &often, nullptr);
  }
  ~RepeatingAlarm() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
  }
};

}  // namespace interrupt_test

BOOST_FIXTURE_TEST_SUITE(interrupt_test, Fixture)

BOOST_AUTO_TEST_CASE(a_signal_ends_the_wait_in_every_mode) {
  for (const int mode : kModes) {
    set_mode(mode);
    std::string result;
    std::atomic<bool> begun{false};
    std::atomic<bool> done{false};
    WaitingThread waiting([&] {
      begun = true;
      result = outcome(exs_qdequeue(queue.handle(), events, 1, nullptr));
      done = true;
    });
    // A signal before the wait does not interrupt it, so signals are sent until the wait has ended.
    while (!begun) std::this_thread::yield();
    while (!done) {
      waiting.interrupt(SIGUSR1);
      std::this_thread::yield();
    }
    waiting.join();
    BOOST_TEST(result == "EINTR");
  }
}

BOOST_AUTO_TEST_CASE(one_signal_is_enough_for_a_thread_that_sleeps) {
  for (const int mode : {EXS_WAIT_ADAPTIVE, EXS_WAIT_NOTIFY}) {
    set_mode(mode);
    std::string result;
    WaitingThread waiting([&] { result = outcome(exs_qwait(queue.handle(), events, 1, 1, -1)); });
    waiting.await_sleep();
    waiting.interrupt(SIGUSR1);
    waiting.join();
    BOOST_TEST(result == "EINTR");
    BOOST_TEST(caught.exchange(0) == 1);
  }
}

BOOST_AUTO_TEST_CASE(a_sleeping_follower_is_interrupted_too) {
  set_mode(EXS_WAIT_NOTIFY);
  std::string results[2];
  const auto body = [&](std::string& result) {
    exs_event_t event{};
    result = outcome(exs_qwait(queue.handle(), &event, 1, 1, -1));
  };
  WaitingThread leader([&] { body(results[0]); });
  leader.await_sleep();
  WaitingThread follower([&] { body(results[1]); });
  follower.await_sleep();
  follower.interrupt(SIGUSR1);
  follower.join();
  BOOST_TEST(results[1] == "EINTR");
  message();
  leader.join();
  BOOST_TEST(results[0] == "ok");
}

BOOST_AUTO_TEST_CASE(a_threshold_half_reached_keeps_its_events) {
  for (const int mode : kModes) {
    set_mode(mode);
    message();
    while (attribute(queue.handle(), EXS_QATTR_EVENTS) < 1) std::this_thread::yield();
    std::string result;
    {
      const RepeatingAlarm alarm;
      result = outcome(exs_qdequeue(queue.handle(), events, -2, nullptr));
    }
    BOOST_TEST(result == "EINTR");
    BOOST_TEST(attribute(queue.handle(), EXS_QATTR_EVENTS) == 1);
    BOOST_TEST(exs_qdequeue(queue.handle(), events, 1, nullptr) == 1);
  }
}

BOOST_AUTO_TEST_CASE(under_a_hail_of_signals_every_event_comes_once) {
  constexpr int kMessages = 300;
  for (const int mode : kModes) {
    set_mode(mode);
    int taken = 0;
    WaitingThread waiting([&] {
      while (taken < kMessages) {
        const int count = exs_qdequeue(queue.handle(), events, 4, nullptr);
        if (count > 0) taken += count;
        if (count < 0 && errno != EINTR) break;
      }
    });
    for (int i = 0; i < kMessages; ++i) {
      waiting.interrupt(SIGUSR1);
      while (exs_recv(pair.right, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()) != 0) {
      }
      BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), 8, 0, other.handle(), nullptr, memory.handle()),
                          0);
      BOOST_TEST(other.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    }
    waiting.join();
    BOOST_TEST(taken == kMessages);
    BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_signal_that_is_blocked_or_restarting_is_told_as_for_ppoll) {
  set_mode(EXS_WAIT_NOTIFY);
  struct sigaction restarting {};
  restarting.sa_handler = note_signal;
  restarting.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &restarting, nullptr);
  std::string result;
  WaitingThread waiting([&] { result = outcome(exs_qwait(queue.handle(), events, 1, 1, -1)); });
  waiting.await_sleep();
  waiting.interrupt(SIGUSR1);
  waiting.join();
  BOOST_TEST(result == "EINTR");
}

BOOST_AUTO_TEST_CASE(an_interrupted_wait_leaves_the_callers_signal_mask_as_it_was) {
  sigset_t before;
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  for (const int mode : kModes) {
    set_mode(mode);
    const RepeatingAlarm alarm;
    BOOST_TEST(outcome(exs_qdequeue(queue.handle(), events, 1, nullptr)) == "EINTR");
  }
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) {
    BOOST_TEST(::sigismember(&before, signal) == ::sigismember(&after, signal));
  }
}

BOOST_AUTO_TEST_CASE(the_library_itself_interrupts_no_wait_of_the_threads_that_call_it) {
  // The kernel never restarts epoll_wait after a signal, unlike poll.
  const UniqueFd set(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  for (int round = 0; round < 10; ++round) {
    BOOST_REQUIRE_EQUAL(exs_fini(), 0);
    BOOST_REQUIRE_EQUAL(exs_init(EXS_VERSION), 0);
    BOOST_REQUIRE(exs_qcreate(1) > 0);
    for (int i = 0; i < 20; ++i) BOOST_REQUIRE_EQUAL(::epoll_wait(set.get(), &event, 1, 1), 0);
  }
}

BOOST_AUTO_TEST_CASE(close_waits_on_through_signals) {
  BOOST_REQUIRE_EQUAL(exs_recv(pair.left, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()), 0);
  const RepeatingAlarm alarm;
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_RECV).exs_evt_errno == ECANCELED);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
