// exs_poll: each entry gives one event, when its socket is ready.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <cerrno>

#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace poll_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory memory{1 << 16};

  std::string poll(int socket, std::uint32_t events) {
    const exs_pollfd_t entry{socket, events, &memory};
    const int result = exs_poll(&entry, 1, 0, queue.handle());
    return result < 0 ? outcome(result) : std::to_string(result);
  }
  std::uint32_t told(int socket) {
    const exs_event_t event = queue.next_of(socket, EXS_EVT_POLL);
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(event.exs_evt_ahandle == &memory);
    return event.exs_evt_union.exs_evt_poll.exs_evt_revents;
  }
  std::string send(int socket, std::size_t length_bytes = 8) {
    return outcome(exs_send(socket, memory.at(), length_bytes, 0, queue.handle(), nullptr, memory.handle()));
  }
  std::string receive(int socket) {
    return outcome(exs_recv(socket, memory.at(1 << 15), 8, 0, queue.handle(), nullptr, memory.handle()));
  }
  int slots() { return attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS); }
};

struct Connected : Fixture {
  Pair pair{queue};
};

}  // namespace poll_test

BOOST_AUTO_TEST_SUITE(poll_test)

BOOST_FIXTURE_TEST_CASE(arguments_and_state_are_checked, Connected) {
  exs_pollfd_t entry{pair.left, EXS_POLLIN, nullptr};
  BOOST_TEST(outcome(exs_poll(nullptr, 1, 0, queue.handle())) == "EFAULT");
  for (const int count : {0, -1}) BOOST_TEST(outcome(exs_poll(&entry, count, 0, queue.handle())) == "EINVAL");
  BOOST_TEST(outcome(exs_poll(&entry, 1, 1, queue.handle())) == "EINVAL");
  BOOST_TEST(outcome(exs_poll(&entry, 1, 0, EXS_QHANDLE_INVALID)) == "EBADF");
  BOOST_TEST(poll(-1, EXS_POLLIN) == "EBADF");
  for (const std::uint32_t events : {2U, 8U, 16U, 32U, 0x80000000U})
    BOOST_TEST(poll(pair.left, events) == "EINVAL");
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(poll(fresh, EXS_POLLIN) == "ENOTCONN");
  BOOST_TEST(exs_close(fresh) == 0);
  BOOST_TEST(slots() == 0);
}

BOOST_FIXTURE_TEST_CASE(entries_are_accepted_up_to_the_first_that_cannot_be, Connected) {
  Queue small(2);
  const std::array<exs_pollfd_t, 4> entries{{{pair.left, EXS_POLLIN, nullptr},
                                             {pair.right, EXS_POLLIN, nullptr},
                                             {pair.left, EXS_POLLIN, nullptr},
                                             {-1, EXS_POLLIN, nullptr}}};
  BOOST_TEST(exs_poll(entries.data(), 4, 0, small.handle()) == 2);
  BOOST_TEST(outcome(exs_poll(entries.data(), 4, 0, small.handle())) == "EAGAIN");
  BOOST_TEST(exs_poll(entries.data(), 4, 0, queue.handle()) == 3);
  BOOST_TEST(outcome(exs_poll(&entries[3], 1, 0, queue.handle())) == "EBADF");
  BOOST_TEST(slots() == 3);
  BOOST_TEST(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES) == 3);
  BOOST_TEST(small.next_outcome(pair.left, EXS_EVT_POLL) == "ECANCELED");
}

BOOST_FIXTURE_TEST_CASE(a_connected_socket_is_ready_for_sending_at_once, Connected) {
  BOOST_TEST(poll(pair.left, EXS_POLLIN | EXS_POLLOUT) == "1");
  BOOST_TEST(told(pair.left) == std::uint32_t{EXS_POLLOUT});
  BOOST_TEST(slots() == 0);  // the poll ended with this event
}

BOOST_FIXTURE_TEST_CASE(a_message_makes_it_readable_and_is_told_once, Connected) {
  BOOST_TEST(poll(pair.right, EXS_POLLIN) == "1");
  BOOST_TEST(queue.empty());
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(told(pair.right) == std::uint32_t{EXS_POLLIN});
  BOOST_TEST(send(pair.left) == "ok");
  for (int i = 0; i < 2; ++i) BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(slots() == 0);
  // A poll reports messages that have already arrived at once.
  BOOST_TEST(poll(pair.right, EXS_POLLIN) == "1");
  BOOST_TEST(told(pair.right) == std::uint32_t{EXS_POLLIN});
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(receive(pair.right) == "ok");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  }
  BOOST_TEST(poll(pair.right, EXS_POLLIN) == "1");
  BOOST_TEST(queue.empty());
}

BOOST_FIXTURE_TEST_CASE(without_credits_it_is_not_ready_for_sending, Fixture) {
  const Pair pair(queue,
                  [](int number) { BOOST_REQUIRE_EQUAL(exs_fcntl(number, EXS_F_SET_RECV_CREDITS, 1), 0); });
  BOOST_TEST(send(pair.left) == "ok");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(poll(pair.left, EXS_POLLOUT) == "1");
  BOOST_TEST(queue.empty());
  BOOST_TEST(receive(pair.right) == "ok");
  BOOST_TEST(told(pair.left) == std::uint32_t{EXS_POLLOUT});
}

BOOST_FIXTURE_TEST_CASE(the_end_of_the_peers_sending_is_readable, Connected) {
  BOOST_TEST(poll(pair.right, EXS_POLLIN) == "1");
  BOOST_TEST(exs_shutdown(pair.left, SHUT_WR) == 0);
  BOOST_TEST(told(pair.right) == std::uint32_t{EXS_POLLIN});
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_closes_is_told_unasked, Connected) {
  BOOST_TEST(poll(pair.right, 0) == "1");
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(told(pair.right) == std::uint32_t{EXS_POLLHUP});
  BOOST_TEST(poll(pair.right, EXS_POLLIN) == "1");
  BOOST_TEST(told(pair.right) == std::uint32_t{EXS_POLLHUP | EXS_POLLIN});
}

BOOST_FIXTURE_TEST_CASE(a_connection_that_breaks_is_told_unasked, Connected) {
  BOOST_TEST(poll(pair.right, 0) == "1");
  BOOST_TEST(set_option(pair.left, EXS_SO_LINGER_MS, 0) == 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(told(pair.right) == std::uint32_t{EXS_POLLERR | EXS_POLLHUP});
  // A later poll reports the same.
  BOOST_TEST(poll(pair.right, EXS_POLLIN) == "1");
  BOOST_TEST(told(pair.right) == std::uint32_t{EXS_POLLERR | EXS_POLLHUP});
}

BOOST_FIXTURE_TEST_CASE(close_ends_open_polls, Connected) {
  for (int i = 0; i < 3; ++i) BOOST_TEST(poll(pair.left, EXS_POLLIN) == "1");
  BOOST_TEST(exs_close(pair.left) == 0);
  for (int i = 0; i < 3; ++i) BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_POLL) == "ECANCELED");
  BOOST_TEST(slots() == 0);
}

BOOST_FIXTURE_TEST_CASE(a_listening_socket_is_readable_when_a_peer_waits, Fixture) {
  const ListeningSocket listening;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(poll(listening.number(), EXS_POLLIN) == "1");
  BOOST_TEST(queue.empty());
  sockaddr_in address = listening.address();
  BOOST_TEST(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(told(listening.number()) == std::uint32_t{EXS_POLLIN});
  BOOST_TEST(poll(listening.number(), EXS_POLLIN) == "1");
  BOOST_TEST(told(listening.number()) == std::uint32_t{EXS_POLLIN});
  BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(accepted.exs_evt_errno == 0);
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "0");
  BOOST_TEST(poll(listening.number(), EXS_POLLIN) == "1");
  BOOST_TEST(queue.empty());
  BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(exs_close(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_poll_does_not_reorder_those_who_wait, Fixture) {
  const ListeningSocket listening;
  std::array<int, 3> sockets{};
  sockaddr_in address = listening.address();
  BOOST_TEST(poll(listening.number(), EXS_POLLIN) == "1");
  for (int& socket : sockets) {
    socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    BOOST_TEST(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr) == 0);
    if (&socket == sockets.data()) BOOST_TEST(told(listening.number()) == std::uint32_t{EXS_POLLIN});
  }
  for (std::size_t i = 0; i < sockets.size(); ++i)
    BOOST_TEST(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr) == 0);
  for (const int socket : sockets) BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "0");
  for (std::size_t i = 0; i < sockets.size(); ++i) {
    const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
    BOOST_TEST(exs_close(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
  }
  for (const int socket : sockets) BOOST_TEST(exs_close(socket) == 0);
}

BOOST_FIXTURE_TEST_CASE(closing_a_listening_socket_ends_its_polls, Fixture) {
  const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_listen(listening, 1) == 0);
  BOOST_TEST(poll(listening, EXS_POLLIN | EXS_POLLOUT) == "1");
  BOOST_TEST(exs_close(listening) == 0);
  BOOST_TEST(queue.next_outcome(listening, EXS_EVT_POLL) == "ECANCELED");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
