// exs_send and exs_recv between two sockets of one process.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstring>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace transfer_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory source{8 << 20};
  Memory sink{8 << 20};
  Pair pair{queue};

  int send(std::size_t length_bytes, int flags = 0, int socket = -1) {
    return exs_send(socket < 0 ? pair.left : socket, source.at(), length_bytes, flags, queue.handle(),
                    nullptr, source.handle());
  }
  int receive(std::size_t length_bytes, int socket = -1) {
    return exs_recv(socket < 0 ? pair.right : socket, sink.at(), length_bytes, 0, queue.handle(), nullptr,
                    sink.handle());
  }
};

}  // namespace transfer_test

BOOST_FIXTURE_TEST_SUITE(transfer_test, Fixture)

BOOST_AUTO_TEST_CASE(messages_of_all_sizes_arrive_whole_by_either_way) {
  for (const int flags : {0, EXS_NO_IMMEDIATE}) {
    for (const std::size_t length : {0UL, 1UL, 64UL, 1024UL, 1025UL, 65536UL, 1000001UL, 8UL << 20}) {
      source.fill(static_cast<std::uint32_t>(length) + 7);
      std::memset(sink.at(), 0, sink.size_bytes());
      BOOST_REQUIRE_EQUAL(receive(length), 0);
      BOOST_REQUIRE_EQUAL(send(length, flags), 0);
      const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SEND);
      const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
      BOOST_TEST(sent.exs_evt_errno == 0);
      BOOST_TEST(sent.exs_evt_union.exs_evt_xfer.exs_evt_length == length);
      BOOST_TEST(received.exs_evt_errno == 0);
      BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_length == length);
      BOOST_TEST((received.exs_evt_flags & EXS_EVF_EOR) != 0);
      const bool immediate = flags == 0 && length <= 1024;
      BOOST_TEST(((received.exs_evt_flags & EXS_EVF_IMMEDIATE) != 0) == immediate);
      BOOST_TEST(std::memcmp(source.at(), sink.at(), length) == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_short_receive_cuts_the_message_and_tells) {
  for (const std::size_t length : {100UL, 100000UL}) {
    BOOST_REQUIRE_EQUAL(receive(10), 0);
    BOOST_REQUIRE_EQUAL(send(length), 0);
    const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
    BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_length == 10U);
    BOOST_TEST((received.exs_evt_flags & EXS_EVF_TRUNC) != 0);
    BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_send_waits_for_its_receive) {
  BOOST_REQUIRE_EQUAL(send(100000), 0);
  BOOST_REQUIRE_EQUAL(send(10), 0);
  BOOST_REQUIRE_EQUAL(receive(100000), 0);
  BOOST_REQUIRE_EQUAL(receive(100000), 0);
  BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == 100000U);
  BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == 10U);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_union.exs_evt_xfer.exs_evt_bufsize == 100000U);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_union.exs_evt_xfer.exs_evt_bufsize == 10U);
}

BOOST_AUTO_TEST_CASE(many_more_sends_than_credits_all_arrive_in_order) {
  constexpr int kMessages = 200;
  for (int i = 0; i < kMessages; ++i) {
    source.at(static_cast<std::size_t>(i))[0] = static_cast<std::byte>(i);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, source.at(static_cast<std::size_t>(i)), 1,
                                 i % 3 == 0 ? EXS_NO_IMMEDIATE : 0, queue.handle(), nullptr, source.handle()),
                        0);
    exs_event_t event{};
    while (exs_qwait(queue.handle(), &event, 1, 0, 0) == 1) BOOST_TEST(event.exs_evt_errno == 0);
    if (i % 20 != 19) continue;
    for (int j = 0; j < 20; ++j) {
      const int number = i - 19 + j;
      BOOST_REQUIRE_EQUAL(receive(1), 0);
      const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
      BOOST_TEST(received.exs_evt_errno == 0);
      BOOST_TEST(static_cast<int>(sink.at()[0]) == (number & 255));
    }
  }
}

BOOST_AUTO_TEST_CASE(shutdown_gives_the_peer_the_end_after_everything_sent) {
  BOOST_REQUIRE_EQUAL(send(5), 0);
  BOOST_REQUIRE_EQUAL(exs_shutdown(pair.left, SHUT_WR), 0);
  BOOST_TEST(send(5) == -1);
  BOOST_TEST(errno_name(errno) == "EPIPE");
  BOOST_REQUIRE_EQUAL(receive(10), 0);
  BOOST_REQUIRE_EQUAL(receive(10), 0);
  BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == 5U);
  const exs_event_t end = queue.next_of(pair.right, EXS_EVT_RECV);
  BOOST_TEST(end.exs_evt_union.exs_evt_xfer.exs_evt_length == 0U);
  BOOST_TEST((end.exs_evt_flags & EXS_EVF_EOF) != 0);
  // The other direction still works.
  BOOST_REQUIRE_EQUAL(receive(10, pair.left), 0);
  BOOST_REQUIRE_EQUAL(send(7, 0, pair.right), 0);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == 7U);
}

BOOST_AUTO_TEST_CASE(close_cancels_receives_and_gives_the_peer_the_end) {
  BOOST_REQUIRE_EQUAL(receive(10, pair.left), 0);
  BOOST_REQUIRE_EQUAL(receive(10, pair.right), 0);
  BOOST_REQUIRE_EQUAL(exs_close(pair.left), 0);
  BOOST_TEST(errno_name(queue.next_of(pair.left, EXS_EVT_RECV).exs_evt_errno) == "ECANCELED");
  const exs_event_t end = queue.next_of(pair.right, EXS_EVT_RECV);
  BOOST_TEST(end.exs_evt_errno == 0);
  BOOST_TEST((end.exs_evt_flags & EXS_EVF_EOF) != 0);
  BOOST_TEST(exs_close(pair.left) == -1);
  BOOST_TEST(errno_name(errno) == "EBADF");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
