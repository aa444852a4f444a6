// Peers that are killed in the middle of transfers: every operation ends, and no descriptor stays open.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "tests/support/child_process.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace killed_peer_test {

constexpr std::size_t kMessageBytes = 1 << 18;
constexpr int kOpen = 8;

int post(bool send, int socket, Queue& queue, Memory& memory) {
  return send ? exs_send(socket, memory.at(), kMessageBytes, 0, queue.handle(), nullptr, memory.handle())
              : exs_recv(socket, memory.at(), kMessageBytes, 0, queue.handle(), nullptr, memory.handle());
}

// Sends and receives as fast as it can until it is killed.
void exchange_for_ever(int socket, Queue& queue, Memory& memory) {
  for (int i = 0; i < kOpen; ++i) {
    if (post(true, socket, queue, memory) != 0 || post(false, socket, queue, memory) != 0) return;
  }
  for (;;) {
    const exs_event_t event = queue.next();
    if (event.exs_evt_errno != 0 || post(event.exs_evt_type == EXS_EVT_SEND, socket, queue, memory) != 0)
      return;
  }
}

void client(const PortPipe& pipe) {
  sockaddr_in address = loopback(ntohs(pipe.hear()));
  const InitializedLibrary library;
  Queue queue;
  Memory memory(kMessageBytes);
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr);
  if (queue.next_of(socket, EXS_EVT_CONNECT).exs_evt_errno == 0) exchange_for_ever(socket, queue, memory);
}

void server(const PortPipe& pipe) {
  const InitializedLibrary library;
  Queue queue;
  Memory memory(kMessageBytes);
  const ListeningSocket listening;
  exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr);
  pipe.tell(listening.address().sin_port);
  exchange_for_ever(
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket, queue,
      memory);
}

// Exchanges some messages with the peer, kills it, and waits until every operation has ended.
void outlive(Child& child, int socket, Queue& queue) {
  Memory memory(kMessageBytes);
  int open = 0;
  for (int i = 0; i < kOpen; ++i) {
    BOOST_REQUIRE_EQUAL(post(true, socket, queue, memory), 0);
    BOOST_REQUIRE_EQUAL(post(false, socket, queue, memory), 0);
    open += 2;
  }
  for (int i = 0; i < 50; ++i) {
    const exs_event_t event = queue.next();
    BOOST_REQUIRE_EQUAL(errno_name(event.exs_evt_errno), "0");
    BOOST_REQUIRE_EQUAL(post(event.exs_evt_type == EXS_EVT_SEND, socket, queue, memory), 0);
  }
  child.kill();
  // The peer had at most kOpen sends under way, and up to kOpen receives may have ended before it died. So no
  // more than 2 * kOpen receives can succeed, and the next one notices the break.
  bool noticed = false;
  for (int i = 0; i <= kOpen && !noticed; ++i) {
    noticed = post(false, socket, queue, memory) != 0;
    if (!noticed) ++open;
  }
  bool sends_broken = false;
  bool receives_broken = false;
  for (; open > 0; --open) {
    const exs_event_t event = queue.next();
    bool& broken = event.exs_evt_type == EXS_EVT_SEND ? sends_broken : receives_broken;
    const std::string error = errno_name(event.exs_evt_errno);
    // Operations that ended before the kill may still report success, but none after the first error of their
    // direction.
    BOOST_TEST((error == "ECONNRESET" || (error == "0" && !broken)));
    broken = broken || error != "0";
  }
  BOOST_TEST((noticed || receives_broken));
  BOOST_TEST(outcome(post(true, socket, queue, memory)) == "EPIPE");
  BOOST_TEST(outcome(post(false, socket, queue, memory)) == "ENOTCONN");
  BOOST_TEST(outcome(exs_close(socket)) == "ok");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

}  // namespace killed_peer_test

BOOST_AUTO_TEST_SUITE(killed_peer_test)

BOOST_AUTO_TEST_CASE(a_server_outlives_its_client) {
  const PortPipe pipe;
  Child child([&] { client(pipe); });
  const InitializedLibrary library;
  Queue queue;
  const ListeningSocket listening;
  const Pair good(queue);
  await_engines();
  const std::size_t descriptors = open_descriptors();
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  pipe.tell(listening.address().sin_port);
  const int socket =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  outlive(child, socket, queue);
  while (open_descriptors() != descriptors) std::this_thread::yield();
  Memory memory(64);
  BOOST_REQUIRE_EQUAL(exs_recv(good.right, memory.at(), 64, 0, queue.handle(), nullptr, memory.handle()), 0);
  BOOST_REQUIRE_EQUAL(exs_send(good.left, memory.at(), 64, 0, queue.handle(), nullptr, memory.handle()), 0);
  BOOST_TEST(queue.next_outcome(good.right, EXS_EVT_RECV) == "0");
}

BOOST_AUTO_TEST_CASE(a_client_outlives_its_server) {
  const PortPipe pipe;
  Child child([&] { server(pipe); });
  sockaddr_in address = loopback(ntohs(pipe.hear()));
  const InitializedLibrary library;
  Queue queue;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  BOOST_REQUIRE_EQUAL(queue.next_outcome(socket, EXS_EVT_CONNECT), "0");
  outlive(child, socket, queue);
}

BOOST_AUTO_TEST_CASE(a_client_killed_before_it_said_anything_frees_the_server) {
  const PortPipe pipe;
  Child child([&] {
    sockaddr_in address = loopback(ntohs(pipe.hear()));
    const InitializedLibrary library;
    Queue queue;
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr);
    queue.next_of(socket, EXS_EVT_CONNECT);
    ::pause();
  });
  const InitializedLibrary library;
  Queue queue;
  Memory memory(64);
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  pipe.tell(listening.address().sin_port);
  const int socket =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  BOOST_REQUIRE_EQUAL(exs_recv(socket, memory.at(), 64, 0, queue.handle(), nullptr, memory.handle()), 0);
  child.kill();
  BOOST_TEST(queue.next_outcome(socket, EXS_EVT_RECV) == "ECONNRESET");
  BOOST_TEST(outcome(exs_close(socket)) == "ok");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
