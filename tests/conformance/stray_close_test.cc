// A program that ends an exs socket by close(2), as it would end one of its own: exs_close tells it, and what the
// number means by then stays open.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <vector>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace stray_close_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Memory memory{100'000};

  std::string receive(int socket) {
    return outcome(
        exs_recv(socket, memory.at(), memory.size_bytes(), 0, queue.handle(), nullptr, memory.handle()));
  }
  // Closes the number, and gives it to something else.
  static UniqueFd steal(int number) {
    const UniqueFd other(::eventfd(0, EFD_CLOEXEC));
    ::close(number);
    const int taken = ::fcntl(other.get(), F_DUPFD_CLOEXEC, number);
    BOOST_REQUIRE_EQUAL(taken, number);
    return UniqueFd(taken);
  }
  static bool is_open(int number) { return ::fcntl(number, F_GETFD) >= 0; }
};

struct Connected : Fixture {
  int left = -1, right = -1;
  Connected() {
    const ListeningSocket listening;
    left = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = listening.address();
    exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr);
    BOOST_REQUIRE_EQUAL(exs_connect(left, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    BOOST_REQUIRE_EQUAL(queue.next_outcome(left, EXS_EVT_CONNECT), "0");
    right = queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  }
};

}  // namespace stray_close_test

BOOST_AUTO_TEST_SUITE(stray_close_test)

// shows: exs_close EBADF
BOOST_FIXTURE_TEST_CASE(a_connected_socket, Connected) {
  BOOST_TEST(receive(left) == "ok");
  const UniqueFd stranger = steal(left);
  BOOST_TEST(outcome(exs_close(left)) == "EBADF");
  BOOST_TEST(is_open(stranger.get()));
  // Expect: the operation has its event, the slot is free, and a second exs_close finds nothing.
  BOOST_TEST(queue.next_of(left, EXS_EVT_RECV).exs_evt_errno != 0);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
  BOOST_TEST(outcome(exs_close(left)) == "EBADF");
  BOOST_TEST(is_open(stranger.get()));
  exs_close(right);
}

// shows: exs_close_async EBADF
BOOST_FIXTURE_TEST_CASE(a_close_without_waiting_tells_in_its_event, Connected) {
  const UniqueFd stranger = steal(left);
  BOOST_TEST(exs_close_async(left, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(queue.next_outcome(left, EXS_EVT_CLOSE) == "EBADF");
  BOOST_TEST(is_open(stranger.get()));
  exs_close(right);
}

BOOST_FIXTURE_TEST_CASE(sockets_without_a_connection, Fixture) {
  for (const bool listens : {false, true}) {
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = loopback();
    if (listens) {
      BOOST_TEST(exs_bind(socket, generic(address), sizeof address) == 0);
      BOOST_TEST(exs_listen(socket, 1) == 0);
      BOOST_TEST(exs_accept(socket, nullptr, 0, queue.handle(), nullptr) == 0);
    }
    const UniqueFd stranger = steal(socket);
    BOOST_TEST(outcome(exs_close(socket)) == "EBADF");
    BOOST_TEST(is_open(stranger.get()));
    if (listens) BOOST_TEST(queue.next_outcome(socket, EXS_EVT_ACCEPT) == "ECANCELED");
  }
}

BOOST_FIXTURE_TEST_CASE(the_end_of_the_library_spares_it, Connected) {
  const UniqueFd stranger = steal(left);
  BOOST_TEST(exs_fini() == 0);
  BOOST_TEST(is_open(stranger.get()));
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  exs_qhandle_t again = exs_qcreate(1);
  BOOST_TEST(again > 0);
}

BOOST_FIXTURE_TEST_CASE(the_next_exs_socket_of_that_number_lives, Connected) {
  BOOST_TEST(receive(left) == "ok");
  ::close(left);
  std::vector<int> others;  // of lower numbers
  int next = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  for (; next < left; next = exs_socket(AF_INET, SOCK_SEQPACKET, 0)) others.push_back(next);
  BOOST_REQUIRE_EQUAL(next, left);
  BOOST_TEST(queue.next_of(left, EXS_EVT_RECV).exs_evt_errno != 0);
  exs_close(right);
  sockaddr_in address = loopback();
  BOOST_TEST(exs_bind(next, generic(address), sizeof address) == 0);
  BOOST_TEST(exs_listen(next, 1) == 0);
  BOOST_TEST(exs_close(next) == 0);
  for (const int other : others) exs_close(other);
}

BOOST_FIXTURE_TEST_CASE(bytes_written_to_it_end_the_connection_at_both_ends, Connected) {
  BOOST_TEST(receive(left) == "ok");
  BOOST_TEST(receive(right) == "ok");
  const char bytes[64] = "GET / HTTP/1.1";
  // Fails where a device has the connection.
  if (::send(left, bytes, sizeof bytes, MSG_NOSIGNAL) == sizeof bytes) {
    BOOST_TEST(queue.next_of(right, EXS_EVT_RECV).exs_evt_errno != 0);
    BOOST_TEST(queue.next_of(left, EXS_EVT_RECV).exs_evt_errno != 0);
  }
  exs_close(left);
  exs_close(right);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
