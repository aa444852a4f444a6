// EXS_SO_KEEPALIVE_MS: the connection to a peer that no longer answers ends; one that is idle stays.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>

#include <cerrno>

#include "tests/support/child_process.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace keepalive_test {

constexpr int kPeriodMs = 50;
// The period for a peer that must answer in time even on a busy machine.
constexpr int kIdlePeriodMs = 500;

// Connects to the port that it is told, and waits until it is killed.
void silent_client(const PortPipe& pipe) {
  sockaddr_in address = loopback(ntohs(pipe.hear()));
  const InitializedLibrary library;
  Queue queue;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr);
  if (queue.next_of(socket, EXS_EVT_CONNECT).exs_evt_errno == 0) ::pause();
}

struct Fixture {
  PortPipe pipe;
  Child child{[this] { silent_client(pipe); }};
  InitializedLibrary library;
  Queue queue;
  Memory memory{1 << 20};
  ListeningSocket listening;
  int socket = -1;

  ~Fixture() {
    child.kill();
    exs_close(socket);
  }
  // The keep-alive comes from the listening socket, or is set on the connected one.
  void accept(bool inherit) {
    if (inherit) BOOST_REQUIRE_EQUAL(set_option(listening.number(), EXS_SO_KEEPALIVE_MS, kPeriodMs), 0);
    BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
    pipe.tell(listening.address().sin_port);
    socket = queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
    if (!inherit) BOOST_REQUIRE_EQUAL(set_option(socket, EXS_SO_KEEPALIVE_MS, kPeriodMs), 0);
  }
  std::string receive() {
    return outcome(exs_recv(socket, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()));
  }
};

}  // namespace keepalive_test

BOOST_AUTO_TEST_SUITE(keepalive_test)

BOOST_AUTO_TEST_CASE(a_stopped_peer_is_given_up) {
  for (const bool inherit : {true, false}) {
    Fixture fixture;
    fixture.accept(inherit);
    BOOST_TEST(fixture.receive() == "ok");
    fixture.child.stop();
    BOOST_TEST(fixture.queue.next_outcome(fixture.socket, EXS_EVT_RECV) == "ETIMEDOUT");
    BOOST_TEST(fixture.receive() == "ENOTCONN");
  }
}

BOOST_AUTO_TEST_CASE(an_idle_peer_that_lives_is_not) {
  InitializedLibrary library;
  Queue queue;
  Memory memory(64);
  const Pair pair(
      queue, [](int number) { BOOST_REQUIRE_EQUAL(set_option(number, EXS_SO_KEEPALIVE_MS, kPeriodMs), 0); });
  BOOST_REQUIRE_EQUAL(exs_recv(pair.left, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()), 0);
  exs_event_t event{};
  BOOST_TEST(exs_qwait(queue.handle(), &event, 1, 1, std::int64_t{kIdlePeriodMs} * 4'000'000) == 0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.right, memory.at(32), 8, 0, queue.handle(), nullptr, memory.handle()), 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "0");
}

BOOST_AUTO_TEST_CASE(off_means_off) {
  Fixture fixture;
  fixture.accept(true);
  BOOST_TEST(set_option(fixture.socket, EXS_SO_KEEPALIVE_MS, 0) == 0);
  BOOST_TEST(fixture.receive() == "ok");
  fixture.child.stop();
  exs_event_t event{};
  BOOST_TEST(exs_qwait(fixture.queue.handle(), &event, 1, 1, std::int64_t{kPeriodMs} * 5'000'000) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
