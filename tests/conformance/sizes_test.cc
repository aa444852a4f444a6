// What is told of lengths: of the next message before it is received, and of a message that did not fit.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstring>

#include "tests/support/exs_fixture.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace sizes_test {

constexpr std::size_t kInside = 64;     // travels inside its advertisement
constexpr std::size_t kRead = 100'000;  // is read
const std::size_t kKinds[] = {kInside, kRead};

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Memory memory{kRead};
  Memory inbox{kRead};

  Fixture() { memory.fill(5); }

  void send(int socket, std::size_t length) {
    BOOST_REQUIRE_EQUAL(exs_send(socket, memory.at(), length, 0, queue.handle(), nullptr, memory.handle()),
                        0);
  }
  // The event of a receive into `room` bytes.
  exs_event_t received(int socket, std::size_t room) {
    BOOST_REQUIRE_EQUAL(exs_recv(socket, inbox.at(), room, 0, queue.handle(), nullptr, inbox.handle()), 0);
    return queue.next_of(socket, EXS_EVT_RECV);
  }
  std::string received_sync(int socket, std::size_t room, int flags) {
    const ssize_t result = exs_recv_sync(socket, inbox.at(), room, flags, inbox.handle());
    return result < 0 ? outcome(-1) : std::to_string(result);
  }
  void start_poll(int socket) {
    const exs_pollfd_t entry{socket, EXS_POLLIN, nullptr};
    BOOST_REQUIRE_EQUAL(exs_poll(&entry, 1, 0, queue.handle()), 1);
  }
  std::uint64_t polled(int socket) {
    const exs_event_t event = queue.next_of(socket, EXS_EVT_POLL);
    BOOST_TEST((event.exs_evt_union.exs_evt_poll.exs_evt_revents & EXS_POLLIN) != 0U);
    return event.exs_evt_union.exs_evt_poll.exs_evt_next_length;
  }
  static std::string asked(int socket) {
    std::uint64_t length = 0;
    socklen_t room = sizeof length;
    const int result = exs_getsockopt(socket, SOL_EXS, EXS_SO_NEXT_LENGTH, &length, &room);
    return result < 0 ? outcome(result) : std::to_string(length);
  }
};

std::size_t length_of(const exs_event_t& event) {
  return event.exs_evt_union.exs_evt_xfer.exs_evt_length;
}

}  // namespace sizes_test

BOOST_FIXTURE_TEST_SUITE(sizes_test, Fixture)

// shows: exs_getsockopt EAGAIN ENOTCONN
BOOST_AUTO_TEST_CASE(the_length_of_the_next_message_is_told) {
  const Pair pair(queue);
  BOOST_TEST(asked(pair.right) == "EAGAIN");
  for (const std::size_t length : {kInside, std::size_t{0}, kRead, std::size_t{1}}) {
    start_poll(pair.right);
    send(pair.left, length);
    BOOST_TEST(polled(pair.right) == length);
    BOOST_TEST(asked(pair.right) == std::to_string(length));
    const exs_event_t event = received(pair.right, length);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_TRUNC) == 0U);
    BOOST_TEST(length_of(event) == length);
    BOOST_TEST(asked(pair.right) == "EAGAIN");
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  }
  BOOST_TEST(exs_shutdown(pair.left, SHUT_WR) == 0);
  start_poll(pair.right);
  BOOST_TEST(polled(pair.right) == 0U);
  BOOST_TEST(asked(pair.right) == "0");
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(asked(fresh) == "ENOTCONN");
  BOOST_TEST(exs_close(fresh) == 0);
}

BOOST_AUTO_TEST_CASE(of_a_stream_all_that_waits_is_told) {
  const Pair pair(queue, SOCK_STREAM);
  for (const std::size_t length : kKinds) {
    start_poll(pair.right);
    send(pair.left, length);
    BOOST_TEST(polled(pair.right) == length);
    BOOST_TEST(length_of(received(pair.right, 10)) == 10U);
    BOOST_TEST(asked(pair.right) == std::to_string(length - 10));
    BOOST_TEST(length_of(received(pair.right, length)) == length - 10);
    BOOST_TEST(asked(pair.right) == "EAGAIN");
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  }
}

BOOST_DATA_TEST_CASE(a_message_that_did_not_fit_tells_its_length, data::make(kKinds), length) {
  const Pair pair(queue);
  send(pair.left, length);
  const exs_event_t event = received(pair.right, 10);
  BOOST_TEST((event.exs_evt_flags & EXS_EVF_TRUNC) != 0U);
  BOOST_TEST(length_of(event) == 10U);
  BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_offset == length);
  // Nothing comes back for a message that travelled inside.
  const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST(sent.exs_evt_errno == 0);
  BOOST_TEST(length_of(sent) == (length == kInside ? length : 10U));
}

// shows: exs_recv_sync EMSGSIZE
BOOST_DATA_TEST_CASE(the_blocking_form_tells_what_did_not_fit, data::make(kKinds), length) {
  const Pair pair(queue);
  for (int i = 0; i < 3; ++i) send(pair.left, length);
  BOOST_TEST(received_sync(pair.right, 10, 0) == "EMSGSIZE");
  BOOST_TEST(std::memcmp(inbox.at(), memory.at(), 10) == 0);
  BOOST_TEST(received_sync(pair.right, 10, MSG_TRUNC) == std::to_string(length));
  BOOST_TEST(received_sync(pair.right, kRead, MSG_TRUNC) == std::to_string(length));
  for (int i = 0; i < 3; ++i) BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
