// Peers that connect, and go before the application has accepted them.
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/in.h>
#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace waiting_peers_test {

constexpr int kPeers = 12;

// Descriptors of this process that are ends of TCP connections to that port.
int ends_at(in_port_t port) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int number = std::stoi(entry.path().filename());
    sockaddr_in own{};
    sockaddr_in peer{};
    socklen_t own_bytes = sizeof own;
    socklen_t peer_bytes = sizeof peer;
    if (::getsockname(number, reinterpret_cast<sockaddr*>(&own), &own_bytes) == 0 &&
        ::getpeername(number, reinterpret_cast<sockaddr*>(&peer), &peer_bytes) == 0 &&
        own.sin_family == AF_INET && (own.sin_port == port || peer.sin_port == port))
      ++count;
  }
  return count;
}

void await_ends(in_port_t port, int count) {
  while (ends_at(port) != count) std::this_thread::yield();
}

int start_connect(const ListeningSocket& listening, Queue& queue) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = listening.address();
  BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  return socket;
}

void accept_one(const ListeningSocket& listening, Queue& queue) {
  const int socket = start_connect(listening, queue);
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "0");
  const int accepted =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(exs_close(accepted) == 0);
}

}  // namespace waiting_peers_test

BOOST_AUTO_TEST_SUITE(waiting_peers_test)

BOOST_AUTO_TEST_CASE(who_has_gone_keeps_no_descriptor) {
  const InitializedLibrary library;
  Queue queue(64);
  const ListeningSocket listening;
  accept_one(listening, queue);  // it listens from then on
  const in_port_t port = listening.address().sin_port;
  await_ends(port, 0);
  for (int round = 0; round < 3; ++round) {
    std::vector<int> sockets;
    for (int i = 0; i < kPeers; ++i) sockets.push_back(start_connect(listening, queue));
    await_ends(port, 2 * kPeers);
    for (const int socket : sockets) {
      BOOST_TEST(exs_close(socket) == 0);
      BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "ECANCELED");
    }
    await_ends(port, 0);
  }
  // Expect: others are accepted, and nobody else is.
  accept_one(listening, queue);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
