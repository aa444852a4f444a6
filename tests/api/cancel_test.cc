// exs_cancel: what matches, what it returns, and that each operation still ends in its one event.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <cerrno>
#include <map>
#include <thread>

#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace cancel_test {

exs_ahandle_t name(std::uintptr_t number) {
  return reinterpret_cast<exs_ahandle_t>(number);
}

struct Fixture {
  InitializedLibrary library;
  Queue queue{1024};
  Memory memory{1 << 16};

  std::string receive(int socket, exs_ahandle_t handle = nullptr) {
    return outcome(exs_recv(socket, memory.at(), 8, 0, queue.handle(), handle, memory.handle()));
  }
  std::string send(int socket, exs_ahandle_t handle = nullptr, int flags = 0) {
    return outcome(exs_send(socket, memory.at(64), 8, flags, queue.handle(), handle, memory.handle()));
  }
  // Takes `count` events and counts them by errno.
  std::map<std::string, int> ends(int count) {
    std::map<std::string, int> found;
    for (int i = 0; i < count; ++i) ++found[errno_name(queue.next().exs_evt_errno)];
    return found;
  }
};

struct Connected : Fixture {
  Pair pair{queue};
};

using Ends = std::map<std::string, int>;

}  // namespace cancel_test

BOOST_AUTO_TEST_SUITE(cancel_test)

BOOST_FIXTURE_TEST_CASE(arguments_are_checked, Connected) {
  BOOST_TEST(receive(pair.left) == "ok");
  for (const int flags : {0, 4, -1, EXS_CAF_FILDES | 8})
    BOOST_TEST(outcome(exs_cancel(pair.left, nullptr, flags)) == "EINVAL");
  BOOST_TEST(outcome(exs_cancel(-1, nullptr, EXS_CAF_FILDES)) == "EBADF");
  BOOST_TEST(outcome(exs_cancel(-1, name(1), EXS_CAF_AHANDLE)) == "ENOENT");
  BOOST_TEST(outcome(exs_cancel(pair.right, nullptr, EXS_CAF_FILDES)) == "ENOENT");
  BOOST_TEST(queue.empty());
}

BOOST_FIXTURE_TEST_CASE(a_socket_that_has_done_nothing_has_nothing_to_cancel, Fixture) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(outcome(exs_cancel(socket, nullptr, EXS_CAF_FILDES)) == "ENOENT");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_FIXTURE_TEST_CASE(by_socket_all_of_its_receives_end, Connected) {
  for (int i = 0; i < 5; ++i) BOOST_TEST(receive(pair.left) == "ok");
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 5);
  BOOST_CHECK((ends(5) == Ends{{"ECANCELED", 5}}));
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 1);  // the receive of the other socket
  BOOST_TEST(outcome(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES)) == "ENOENT");
}

BOOST_FIXTURE_TEST_CASE(by_handle_on_one_socket_or_on_all, Connected) {
  for (const int socket : {pair.left, pair.right}) {
    for (const std::uintptr_t handle : {1U, 2U, 1U, 3U}) BOOST_TEST(receive(socket, name(handle)) == "ok");
  }
  BOOST_TEST(exs_cancel(pair.left, name(1), EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 2);
  BOOST_CHECK((ends(2) == Ends{{"ECANCELED", 2}}));
  BOOST_TEST(exs_cancel(-1, name(2), EXS_CAF_AHANDLE) == 2);
  BOOST_CHECK((ends(2) == Ends{{"ECANCELED", 2}}));
  BOOST_TEST(exs_cancel(-1, name(1), EXS_CAF_AHANDLE) == 2);
  BOOST_CHECK((ends(2) == Ends{{"ECANCELED", 2}}));
  // The operations that were not named still work.
  BOOST_TEST(send(pair.left, name(9)) == "ok");
  BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_ahandle == name(3));
}

BOOST_FIXTURE_TEST_CASE(a_receive_that_was_cancelled_takes_no_message, Connected) {
  BOOST_TEST(receive(pair.right, name(1)) == "ok");
  BOOST_TEST(receive(pair.right, name(2)) == "ok");
  BOOST_TEST(exs_cancel(pair.right, name(1), EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  BOOST_TEST(send(pair.left) == "ok");
  const exs_event_t first = queue.next_of(pair.right, EXS_EVT_RECV);
  BOOST_TEST(first.exs_evt_ahandle == name(1));
  BOOST_TEST(first.exs_evt_errno == ECANCELED);
  const exs_event_t second = queue.next_of(pair.right, EXS_EVT_RECV);
  BOOST_TEST(second.exs_evt_ahandle == name(2));
  BOOST_TEST(second.exs_evt_errno == 0);
}

BOOST_FIXTURE_TEST_CASE(sends_that_nobody_receives_end_with_and_without_a_credit, Fixture) {
  const Pair pair(queue,
                  [](int number) { BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_RECV_CREDITS, 2), 0); });
  for (int i = 0; i < 6; ++i) BOOST_TEST(send(pair.left, name(7), EXS_NO_IMMEDIATE) == "ok");
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 6);
  BOOST_CHECK((ends(6) == Ends{{"ECANCELED", 6}}));
}

BOOST_FIXTURE_TEST_CASE(open_accepts_and_polls_of_a_listening_socket_end, Fixture) {
  const ListeningSocket listening;
  for (const std::uintptr_t handle : {1U, 2U, 1U})
    BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), name(handle)) == 0);
  const exs_pollfd_t poll{listening.number(), EXS_POLLIN, name(2)};
  BOOST_TEST(exs_poll(&poll, 1, 0, queue.handle()) == 1);
  BOOST_TEST(exs_cancel(-1, name(2), EXS_CAF_AHANDLE) == 2);
  BOOST_CHECK((ends(2) == Ends{{"ECANCELED", 2}}));
  BOOST_TEST(exs_cancel(listening.number(), nullptr, EXS_CAF_FILDES) == 2);
  const exs_event_t event = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(event.exs_evt_errno == ECANCELED);
  BOOST_TEST(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket == -1);
  BOOST_TEST(queue.next_outcome(listening.number(), EXS_EVT_ACCEPT) == "ECANCELED");
  // The socket still accepts.
  BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = listening.address();
  BOOST_TEST(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "0");
  const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(exs_close(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_connect_under_way_ends, Fixture) {
  const RawListener silent;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = silent.address();
  BOOST_TEST(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), name(5)) == 0);
  BOOST_TEST(outcome(exs_cancel(socket, name(4), EXS_CAF_FILDES | EXS_CAF_AHANDLE)) == "ENOENT");
  BOOST_TEST(exs_cancel(socket, name(5), EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "ECANCELED");
  BOOST_TEST(outcome(exs_cancel(socket, nullptr, EXS_CAF_FILDES)) == "ENOENT");
  BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

// While cancels race with completions, every operation ends once: cancelled, and counted by exs_cancel, or
// complete.
BOOST_FIXTURE_TEST_CASE(a_cancel_that_races_with_completion_leaves_one_event_each, Connected) {
  constexpr int kRounds = 2000;
  constexpr int kMaxWaiting = 4;  // messages that no receive has taken
  std::atomic<bool> done{false};
  std::thread canceller([&] {
    while (!done) {
      if (exs_cancel(pair.right, nullptr, EXS_CAF_FILDES) < 0) std::this_thread::yield();
    }
  });
  int cancelled = 0;
  int received = 0;
  int sent = 0;
  for (int i = 0; i < kRounds; ++i) {
    BOOST_REQUIRE_EQUAL(receive(pair.right, name(i + 1)), "ok");
    // A cancelled receive leaves its message to a later one. If too many wait, the next send waits for credit.
    const bool sends = i % 2 == 0 && sent - received < kMaxWaiting;
    if (sends) BOOST_REQUIRE_EQUAL(send(pair.left), "ok");
    sent += sends ? 1 : 0;
    const exs_event_t event = queue.next_of(pair.right, EXS_EVT_RECV);
    BOOST_REQUIRE(event.exs_evt_ahandle == name(i + 1));
    ++(event.exs_evt_errno == 0 ? received : cancelled);
    if (sends) BOOST_REQUIRE_EQUAL(queue.next_outcome(pair.left, EXS_EVT_SEND), "0");
  }
  done = true;
  canceller.join();
  BOOST_TEST(cancelled + received == kRounds);
  for (; received < sent; ++received) {
    BOOST_REQUIRE_EQUAL(receive(pair.right), "ok");
    BOOST_REQUIRE_EQUAL(queue.next_outcome(pair.right, EXS_EVT_RECV), "0");
  }
  BOOST_TEST(exs_close(pair.right) == 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_FIXTURE_TEST_CASE(cancelled_operations_are_counted, Connected) {
  for (int i = 0; i < 3; ++i) BOOST_TEST(receive(pair.left) == "ok");
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 3);
  const exs_stats_t stats = stats_of(pair.left);
  BOOST_TEST(stats.cancelled == 3U);
  BOOST_TEST(stats.errors == 3U);
  BOOST_TEST(stats.timeouts == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
