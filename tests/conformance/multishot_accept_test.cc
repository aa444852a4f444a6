// Accepts that stay posted: one call, an event for each connection.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <memory>
#include <set>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace multishot_accept_test {

struct Client {
  explicit Client(Queue& queue, sockaddr_in address) : socket(exs_socket(AF_INET, SOCK_SEQPACKET, 0)) {
    BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  }
  ~Client() { exs_close(socket); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;
  int socket;
};

struct Fixture {
  InitializedLibrary library;
  Queue connects{256};
  ListeningSocket listener;
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<int> accepted;

  ~Fixture() {
    for (const int socket : accepted) exs_close(socket);
  }
  void connect() { clients.push_back(std::make_unique<Client>(connects, listener.address())); }
  void accept(Queue& queue, void* handle = nullptr) {
    BOOST_REQUIRE_EQUAL(
        outcome(exs_accept(listener.number(), nullptr, EXS_MULTISHOT, queue.handle(), handle)), "ok");
  }
  // Takes the event of one more connection.
  exs_event_t take(Queue& queue) {
    const exs_event_t event = queue.next_of(listener.number(), EXS_EVT_ACCEPT);
    BOOST_REQUIRE_EQUAL(errno_name(event.exs_evt_errno), "0");
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_MORE) != 0U);
    accepted.push_back(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
    return event;
  }
  void await_last(Queue& queue) {
    const exs_event_t last = queue.next_of(listener.number(), EXS_EVT_ACCEPT);
    BOOST_TEST(errno_name(last.exs_evt_errno) == "ECANCELED");
    BOOST_TEST((last.exs_evt_flags & EXS_EVF_MORE) == 0U);
    BOOST_TEST(last.exs_evt_union.exs_evt_accept.exs_evt_newsocket == -1);
  }
};

}  // namespace multishot_accept_test

BOOST_FIXTURE_TEST_SUITE(multishot_accept_test, Fixture)

BOOST_AUTO_TEST_CASE(one_call_accepts_until_it_is_cancelled) {
  Queue queue(64);
  int tag = 0;
  accept(queue, &tag);
  for (int i = 0; i < 10; ++i) {
    connect();
    BOOST_TEST(take(queue).exs_evt_ahandle == &tag);
    BOOST_TEST(connects.next_outcome(clients.back()->socket, EXS_EVT_CONNECT) == "0");
  }
  BOOST_TEST(std::set<int>(accepted.begin(), accepted.end()).size() == 10U);
  BOOST_TEST(exs_cancel(-1, &tag, EXS_CAF_AHANDLE) == 1);
  await_last(queue);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_AUTO_TEST_CASE(peers_wait_while_no_slot_is_free) {
  Queue narrow(3);  // one slot is for the last event
  accept(narrow);
  for (int i = 0; i < 8; ++i) connect();
  for (int i = 0; i < 8; ++i) take(narrow);
  for (const auto& client : clients)
    BOOST_TEST(connects.next_outcome(client->socket, EXS_EVT_CONNECT) == "0");
  BOOST_TEST(exs_cancel(listener.number(), nullptr, EXS_CAF_FILDES) == 1);
  await_last(narrow);
}

// A queue made deeper has free slots, too.
BOOST_AUTO_TEST_CASE(a_deeper_queue_lets_a_peer_in) {
  Queue narrow(1);
  accept(narrow);
  connect();
  const int depth = 2;
  BOOST_TEST(exs_qmodify(narrow.handle(), EXS_QATTR_DEPTH, &depth, sizeof depth) == 0);
  take(narrow);
  BOOST_TEST(exs_cancel(listener.number(), nullptr, EXS_CAF_FILDES) == 1);
  await_last(narrow);
}

BOOST_AUTO_TEST_CASE(several_take_turns) {
  Queue first(64);
  Queue second(64);
  accept(first);
  accept(second);
  for (int i = 0; i < 6; ++i) {
    connect();
    take(i % 2 == 0 ? first : second);
  }
  BOOST_TEST(exs_close(listener.number()) == 0);  // the fixture's second close finds nothing
  await_last(first);
  await_last(second);
}

// A full queue does not keep peers from an accept on another one.
BOOST_AUTO_TEST_CASE(who_has_a_slot_accepts) {
  Queue full(1);
  Queue queue(64);
  accept(full);
  accept(queue);
  for (int i = 0; i < 4; ++i) {
    connect();
    take(queue);
  }
  BOOST_TEST(exs_cancel(listener.number(), nullptr, EXS_CAF_FILDES) == 2);
  await_last(full);
  await_last(queue);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
