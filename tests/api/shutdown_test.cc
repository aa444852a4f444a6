// exs_shutdown in each direction, and what the peer sees.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace shutdown_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory memory{1 << 16};
  Pair pair{queue};

  std::string send(int socket, std::size_t length_bytes = 8, int flags = 0) {
    return outcome(
        exs_send(socket, memory.at(), length_bytes, flags, queue.handle(), nullptr, memory.handle()));
  }
  std::string receive(int socket, std::size_t length_bytes = 8) {
    return outcome(
        exs_recv(socket, memory.at(1 << 15), length_bytes, 0, queue.handle(), nullptr, memory.handle()));
  }
  void expect_end(int socket) {
    const exs_event_t event = queue.next_of(socket, EXS_EVT_RECV);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_length == 0U);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOF) != 0U);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_EOR) == 0U);
  }
  // Sends until this end knows that the peer receives no more.
  void expect_epipe_at_last(int socket) {
    for (;;) {
      const std::string result = send(socket, 8, EXS_NO_IMMEDIATE);
      if (result == "EPIPE") return;
      BOOST_REQUIRE_EQUAL(result, "ok");
      BOOST_TEST(queue.next_outcome(socket, EXS_EVT_SEND) == "EPIPE");
    }
  }
};

}  // namespace shutdown_test

BOOST_FIXTURE_TEST_SUITE(shutdown_test, Fixture)

BOOST_AUTO_TEST_CASE(arguments_and_state_are_checked) {
  for (const int how : {-1, 3, 100}) BOOST_TEST(outcome(exs_shutdown(pair.left, how)) == "EINVAL");
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const ListeningSocket listening;
  for (const int socket : {fresh, listening.number()}) {
    BOOST_TEST(outcome(exs_shutdown(socket, SHUT_WR)) == "ENOTCONN");
  }
  BOOST_TEST(exs_close(fresh) == 0);
  BOOST_TEST(send(pair.left) == "ok");
}

BOOST_AUTO_TEST_CASE(after_shut_wr_the_peer_gets_everything_and_then_the_end) {
  BOOST_TEST(send(pair.left, 20'000) == "ok");
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(exs_shutdown(pair.left, SHUT_WR) == 0);
  BOOST_TEST(send(pair.left) == "EPIPE");
  for (int i = 0; i < 4; ++i) BOOST_TEST(receive(pair.right, 20'000) == "ok");
  BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == 20'000U);
  BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == 8U);
  expect_end(pair.right);
  expect_end(pair.right);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
}

BOOST_AUTO_TEST_CASE(the_end_reaches_receives_that_wait_and_those_that_come) {
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(exs_shutdown(pair.left, SHUT_WR) == 0);
  expect_end(pair.right);
  BOOST_TEST(receive(pair.right) == "ok");
  expect_end(pair.right);
}

BOOST_AUTO_TEST_CASE(shut_rd_ends_our_receives_and_the_peers_sends) {
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(exs_shutdown(pair.right, SHUT_RD) == 0);
  expect_end(pair.right);
  BOOST_TEST(receive(pair.right) == "ok");
  expect_end(pair.right);
  expect_epipe_at_last(pair.left);
  // The other direction goes on.
  BOOST_TEST(receive(pair.left) == "ok");
  BOOST_TEST(send(pair.right) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "0");
}

BOOST_AUTO_TEST_CASE(sends_that_wait_for_a_receive_end_when_the_peer_shuts_rd) {
  for (int i = 0; i < 3; ++i) BOOST_TEST(send(pair.left, 20'000) == "ok");
  BOOST_TEST(exs_shutdown(pair.right, SHUT_RD) == 0);
  for (int i = 0; i < 3; ++i) BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "EPIPE");
}

BOOST_AUTO_TEST_CASE(shut_rdwr_does_both) {
  BOOST_TEST(receive(pair.left) == "ok");
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(exs_shutdown(pair.left, SHUT_RDWR) == 0);
  BOOST_TEST(send(pair.left) == "EPIPE");
  expect_end(pair.left);
  expect_end(pair.right);
  expect_epipe_at_last(pair.right);
  BOOST_TEST(exs_close(pair.left) == 0);
}

BOOST_AUTO_TEST_CASE(shutting_down_again_changes_nothing) {
  for (const int how : {SHUT_WR, SHUT_WR, SHUT_RD, SHUT_RDWR, SHUT_RD}) {
    BOOST_TEST(exs_shutdown(pair.left, how) == 0);
  }
  BOOST_TEST(receive(pair.right) == "ok");
  expect_end(pair.right);
}

BOOST_AUTO_TEST_CASE(both_ends_may_shut_down_and_close_still_shakes_hands) {
  BOOST_TEST(exs_shutdown(pair.left, SHUT_RDWR) == 0);
  BOOST_TEST(exs_shutdown(pair.right, SHUT_RDWR) == 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(exs_close(pair.right) == 0);
}

BOOST_AUTO_TEST_CASE(after_the_peers_close_sends_are_epipe_and_receives_the_end) {
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(receive(pair.right) == "ok");
  expect_end(pair.right);
  BOOST_TEST(send(pair.right) == "EPIPE");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
