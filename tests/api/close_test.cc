// exs_close: what it waits for, what it cancels, and what is true when it returns.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace close_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory source{1 << 20};
  Memory sink{1 << 20};

  int send(int socket, std::size_t length_bytes, int flags = 0) {
    return exs_send(socket, source.at(), length_bytes, flags, queue.handle(), nullptr, source.handle());
  }
  int receive(int socket, std::size_t length_bytes) {
    return exs_recv(socket, sink.at(), length_bytes, 0, queue.handle(), nullptr, sink.handle());
  }
  void linger(int socket, int milliseconds) {
    BOOST_REQUIRE_EQUAL(set_option(socket, EXS_SO_LINGER_MS, milliseconds), 0);
  }
};

struct Connected : Fixture {
  Pair pair{queue};
};

// An accepted connection whose peer is a RawPeer.
struct WithRawPeer : Fixture {
  ListeningSocket listening;
  RawPeer peer{listening.address()};
  int socket = -1;

  void accept() {
    BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
    peer.request(honest_hello());
    socket = queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
    BOOST_REQUIRE(socket >= 0);
    BOOST_REQUIRE(peer.take_handshake());
  }
};

}  // namespace close_test

BOOST_AUTO_TEST_SUITE(close_test)

BOOST_FIXTURE_TEST_CASE(a_socket_is_closed_once, Connected) {
  BOOST_TEST(outcome(exs_close(pair.left)) == "ok");
  BOOST_TEST(outcome(exs_close(pair.left)) == "EBADF");
  BOOST_TEST(outcome(send(pair.left, 1)) == "EBADF");
  BOOST_TEST(outcome(receive(pair.left, 1)) == "EBADF");
}

BOOST_FIXTURE_TEST_CASE(of_many_that_close_one_succeeds, Connected) {
  std::atomic<int> closed{0};
  std::vector<std::thread> closers;
  for (int i = 0; i < 4; ++i) {
    closers.emplace_back([&] {
      if (exs_close(pair.left) == 0) ++closed;
    });
  }
  for (std::thread& closer : closers) closer.join();
  BOOST_TEST(closed == 1);
}

BOOST_FIXTURE_TEST_CASE(unconnected_sockets_close_at_once, Fixture) {
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_close(fresh) == 0);
  const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_listen(listening, 1) == 0);
  BOOST_TEST(exs_close(listening) == 0);
}

BOOST_FIXTURE_TEST_CASE(every_event_is_there_when_close_returns, Connected) {
  for (int i = 0; i < 20; ++i) BOOST_REQUIRE_EQUAL(receive(pair.left, 100), 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_EVENTS) == 20);
  BOOST_TEST(exs_mderegister(sink.handle(), 0) == 0);
  for (int i = 0; i < 20; ++i) BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_FIXTURE_TEST_CASE(sends_finish_while_close_lingers, Connected) {
  source.fill(1);
  constexpr std::size_t kLength = 1 << 18;
  BOOST_REQUIRE_EQUAL(receive(pair.right, kLength), 0);
  BOOST_REQUIRE_EQUAL(send(pair.left, kLength), 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  BOOST_TEST(queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_union.exs_evt_xfer.exs_evt_length == kLength);
  BOOST_TEST(std::memcmp(source.at(), sink.at(), kLength) == 0);
}

BOOST_FIXTURE_TEST_CASE(immediate_messages_sent_before_close_arrive, Connected) {
  for (int i = 0; i < 10; ++i) BOOST_REQUIRE_EQUAL(send(pair.left, 100), 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  for (int i = 0; i < 11; ++i) BOOST_REQUIRE_EQUAL(receive(pair.right, 100), 0);
  for (int i = 0; i < 10; ++i) {
    const exs_event_t event = queue.next_of(pair.right, EXS_EVT_RECV);
    BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_length == 100U);
  }
  BOOST_TEST((queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_flags & EXS_EVF_EOF) != 0U);
}

BOOST_FIXTURE_TEST_CASE(sends_that_nobody_receives_end_with_the_linger_time, Connected) {
  linger(pair.left, 50);
  for (int i = 0; i < 3; ++i) BOOST_REQUIRE_EQUAL(send(pair.left, 5000), 0);
  BOOST_TEST(outcome(exs_close(pair.left)) == "ETIMEDOUT");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_EVENTS) == 3);
  for (int i = 0; i < 3; ++i) BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno != 0);
  BOOST_TEST(exs_mderegister(source.handle(), 0) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_linger_time_of_zero_breaks_off, Connected) {
  linger(pair.left, 0);
  BOOST_REQUIRE_EQUAL(send(pair.left, 5000), 0);
  BOOST_REQUIRE_EQUAL(receive(pair.left, 10), 0);
  BOOST_TEST(outcome(exs_close(pair.left)) == "ok");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_EVENTS) == 2);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno != 0);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_RECV).exs_evt_errno != 0);
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_does_not_answer_is_given_up, WithRawPeer) {
  accept();
  peer.message(wire::MessageType::kReady);
  linger(socket, 50);
  BOOST_REQUIRE_EQUAL(receive(socket, 10), 0);
  BOOST_TEST(outcome(exs_close(socket)) == "ETIMEDOUT");
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_RECV) == "ECANCELED");
  peer.await_end();
}

BOOST_FIXTURE_TEST_CASE(the_linger_time_holds_also_when_the_peer_gets_ready_late, WithRawPeer) {
  accept();
  linger(socket, 300);
  BOOST_REQUIRE_EQUAL(receive(socket, 10), 0);
  BOOST_REQUIRE_EQUAL(send(socket, 5000), 0);
  std::string result;
  WaitingThread closing([&] { result = outcome(exs_close(socket)); });
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_RECV) == "ECANCELED");  // the close has begun
  peer.message(wire::MessageType::kReady);
  closing.join();
  BOOST_TEST(result == "ETIMEDOUT");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_EVENTS) == 1);
  BOOST_TEST(queue.next_of(socket, EXS_EVT_SEND).exs_evt_errno != 0);
}

BOOST_FIXTURE_TEST_CASE(a_peer_that_breaks_off_during_the_close_does_not_fail_it, WithRawPeer) {
  accept();
  peer.message(wire::MessageType::kReady);
  BOOST_REQUIRE_EQUAL(send(socket, 5000), 0);
  std::string result;
  WaitingThread closing([&] { result = outcome(exs_close(socket)); });
  BOOST_TEST(peer.next_message(wire::MessageType::kAdvert).has_value());
  peer.reset();
  closing.join();
  BOOST_TEST(result == "ok");
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_SEND) == "ECONNRESET");
}

BOOST_FIXTURE_TEST_CASE(both_ends_may_close_at_once, Connected) {
  for (int round = 0; round < 30; ++round) {
    const Pair both(queue);
    BOOST_REQUIRE_EQUAL(receive(both.left, 10), 0);
    BOOST_REQUIRE_EQUAL(receive(both.right, 10), 0);
    std::string result;
    WaitingThread closing([&] { result = outcome(exs_close(both.left)); });
    const std::string own_result = outcome(exs_close(both.right));
    closing.join();
    BOOST_TEST(result == "ok");
    BOOST_TEST(own_result == "ok");
    for (const int socket : {both.left, both.right}) {
      const exs_event_t event = queue.next_of(socket, EXS_EVT_RECV);
      BOOST_TEST((event.exs_evt_errno == ECANCELED || (event.exs_evt_flags & EXS_EVF_EOF) != 0));
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_number_is_not_used_again_while_an_event_names_it, Connected) {
  BOOST_REQUIRE_EQUAL(receive(pair.left, 10), 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  std::vector<int> sockets;
  for (int i = 0; i < 20; ++i) sockets.push_back(exs_socket(AF_INET, SOCK_SEQPACKET, 0));
  BOOST_TEST(std::count(sockets.begin(), sockets.end(), pair.left) == 0);
  for (const int socket : sockets) BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
  // The number is free as soon as the thread that ended the connection has released it.
  while (::fcntl(pair.left, F_GETFD) >= 0) std::this_thread::yield();
}

BOOST_FIXTURE_TEST_CASE(closing_a_listening_socket_cancels_its_accepts, Fixture) {
  const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_listen(listening, 8) == 0);
  for (int i = 0; i < 5; ++i) {
    BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, queue.handle(), nullptr), 0);
  }
  BOOST_TEST(exs_close(listening) == 0);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_EVENTS) == 5);
  for (int i = 0; i < 5; ++i) {
    const exs_event_t event = queue.next_of(listening, EXS_EVT_ACCEPT);
    BOOST_TEST(errno_name(event.exs_evt_errno) == "ECANCELED");
    BOOST_TEST(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket == -1);
  }
}

// Also when another thread carries the close out.
BOOST_FIXTURE_TEST_CASE(the_port_is_free_when_close_returns, Fixture) {
  WaitingThread waiting([this] {
    while (queue.next().exs_evt_type != EXS_EVT_USER) continue;
  });
  const HeldPort port;
  sockaddr_in address = port.address();
  for (int i = 0; i < 20; ++i) {
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    BOOST_TEST(outcome(exs_bind(socket, generic(address), sizeof address)) == "ok");
    BOOST_TEST(outcome(exs_listen(socket, 1)) == "ok");
    BOOST_TEST(outcome(exs_accept(socket, nullptr, 0, queue.handle(), nullptr)) == "ok");
    exs_close(socket);
  }
  exs_qpost(queue.handle(), nullptr, nullptr);
}

BOOST_FIXTURE_TEST_CASE(accepted_sockets_outlive_their_listening_socket, Connected) {
  // Pair has closed its listening socket by now.
  BOOST_REQUIRE_EQUAL(receive(pair.right, 100), 0);
  BOOST_REQUIRE_EQUAL(send(pair.left, 100), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
}

BOOST_FIXTURE_TEST_CASE(peers_that_wait_at_a_closed_listening_socket_are_refused, Fixture) {
  const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_listen(listening, 8) == 0);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  BOOST_TEST(exs_getsockname(listening, generic(address), &length) == 0);
  address.sin_addr.s_addr = loopback().sin_addr.s_addr;
  const int connecting = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_REQUIRE_EQUAL(exs_connect(connecting, generic(address), length, 0, queue.handle(), nullptr), 0);
  BOOST_TEST(exs_close(listening) == 0);
  const std::string error = queue.next_outcome(connecting, EXS_EVT_CONNECT);
  BOOST_TEST((error == "ECONNREFUSED" || error == "ECONNRESET"));
  BOOST_TEST(exs_close(connecting) == 0);
}

BOOST_FIXTURE_TEST_CASE(close_needs_no_slot_in_a_full_queue, Connected) {
  Queue full(1);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.left, sink.at(), 1, 0, full.handle(), nullptr, sink.handle()), 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(full.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
