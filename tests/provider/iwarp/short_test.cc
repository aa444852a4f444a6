// Short messages in the steady case: past the queue of the sender, and by looks of the receiver at one socket.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <boost/test/unit_test.hpp>
#include <cerrno>

#include "tests/provider/iwarp/link_pair.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace short_test {

constexpr std::size_t kBytes = 200;
constexpr std::uint32_t kReceives = 1000;

struct Fixture {
  Fixture() {
    const int narrow = 5000;
    for (const int socket : {pair.client_socket.get(), pair.listening.socket.get()}) {
      ::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &narrow, sizeof narrow);
      ::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &narrow, sizeof narrow);
    }
    pair.join();
    pair.first_message();
  }

  bool send(unsigned char number) {
    std::vector<std::byte> payload(kBytes, std::byte{number});
    return pair.client->send_short(bytes_of("head"), slice_of(payload));
  }
  void post_receive() { BOOST_REQUIRE(pair.server->post_recv(slice_of(room), 7).ok()); }
  void expect_message(unsigned char number) {
    const Completion completion = pair.server_gets(CompletionKind::kReceive);
    BOOST_TEST(completion.length_bytes == kBytes + 4);
    BOOST_TEST((room[4] == std::byte{number} && room[kBytes + 3] == std::byte{number}));
  }
  // So many that looks suffice.
  void come_alone() {
    for (unsigned char i = 0; i < 4; ++i) {
      post_receive();
      BOOST_REQUIRE(send(i));
      expect_message(i);
    }
  }
  Port& server_port() { return *pair.server_port.operator->(); }

  static PairOptions options() {
    PairOptions made;
    made.depths.receives = kReceives;
    return made;
  }

  LinkPair pair{options()};
  std::vector<std::byte> room = std::vector<std::byte>(kBytes + 4);
};

}  // namespace short_test

BOOST_FIXTURE_TEST_SUITE(short_test, short_test::Fixture)

BOOST_AUTO_TEST_CASE(a_socket_that_is_full_takes_a_part_and_loses_nothing) {
  unsigned sent = 0;
  while (sent < kReceives && send(static_cast<unsigned char>(sent))) ++sent;
  BOOST_TEST(sent > 0U);
  BOOST_REQUIRE(sent < kReceives);
  std::vector<std::vector<std::byte>> rooms(sent, room);
  for (unsigned i = sent; i-- > 0;)  // the last one posted takes the first message
    BOOST_REQUIRE(pair.server->post_recv(slice_of(rooms[i]), i).ok());
  for (unsigned i = 0; i < sent; ++i) {
    const Completion completion = pair.server_gets(CompletionKind::kReceive);
    BOOST_TEST(completion.token == i);
    BOOST_TEST((rooms[i][4] == std::byte(i) && rooms[i].back() == std::byte(i)));
  }
  // Expect: the rest has left, and the short way is open again.
  post_receive();
  BOOST_TEST(send(1));
  expect_message(1);
}

BOOST_AUTO_TEST_CASE(a_closed_link_sends_nothing) {
  pair.client->close();
  BOOST_TEST(!send(1));
}

BOOST_AUTO_TEST_CASE(messages_that_come_alone_are_found_by_looks_at_their_socket) {
  BOOST_TEST(server_port().looks_in_a_row() == 0U);
  come_alone();
  BOOST_TEST(server_port().looks_in_a_row() > 0U);
  BOOST_TEST(!server_port().has_news());

  post_receive();
  BOOST_REQUIRE(send(9));
  BOOST_TEST(server_port().has_news());
  BOOST_TEST(server_port().take_news(false));
  Completion completion;
  BOOST_TEST(server_port().poll({&completion, 1}) == 1U);
  BOOST_TEST((completion.kind == CompletionKind::kReceive));
  BOOST_TEST((room[4] == std::byte{9}));
  BOOST_TEST(!server_port().has_news());
}

BOOST_AUTO_TEST_CASE(a_ring_is_answered_by_one_look) {
  come_alone();
  BOOST_TEST(server_port().poll_memory(false));
  BOOST_TEST(!server_port().poll_memory(true));  // it rang for something else
  post_receive();
  BOOST_REQUIRE(send(5));
  BOOST_TEST(server_port().poll_memory(true));
  Completion completion;
  BOOST_TEST(server_port().poll({&completion, 1}) == 1U);
  BOOST_TEST((room[4] == std::byte{5}));
}

BOOST_AUTO_TEST_CASE(a_busy_link_keeps_nobody_waiting) {
  come_alone();
  const Socket second = tcp_socket();
  const auto link = pair.client_port->connector()->connect(
      second.get(), pair.listening.as_sockaddr(), sizeof pair.listening.address,
      {bytes_of("hello"), pair.depths}, kClientToken + 10);
  BOOST_REQUIRE(link.has_value());
  pair.client_port.turn();  // which sends the request

  for (int i = 0; i < 16; ++i) {
    post_receive();
    BOOST_REQUIRE(send(1));
    BOOST_REQUIRE(server_port().has_news());
    BOOST_TEST(server_port().take_news(false));
    pair.server_port.collect();
  }
  server_port().progress(kStartNs);
  BOOST_TEST((pair.listener->next_request() != nullptr));
  (*link)->close();
}

// Their sender would wait for the lock of the socket.
BOOST_AUTO_TEST_CASE(messages_that_come_together_are_not_looked_for_so) {
  come_alone();
  std::vector<std::byte> other(room.size());
  post_receive();
  BOOST_REQUIRE(pair.server->post_recv(slice_of(other), 8).ok());
  BOOST_REQUIRE(send(1) && send(2));
  pair.server_gets(CompletionKind::kReceive);
  pair.server_gets(CompletionKind::kReceive);
  BOOST_TEST(server_port().looks_in_a_row() == 0U);
  post_receive();
  BOOST_REQUIRE(send(3));
  BOOST_TEST(!server_port().has_news());
  expect_message(3);
}

// The kernel refuses the memory, and epoll tells nothing of that.
BOOST_AUTO_TEST_CASE(a_send_that_fails_keeps_the_port_awake) {
  constexpr std::size_t kPage = 4096;
  void* const gone = ::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(gone != MAP_FAILED);
  BOOST_REQUIRE(pair.client->post_send({}, {static_cast<std::byte*>(gone), kPage, {}}, 3).ok());
  pair.client_port->flush();
  BOOST_TEST(!pair.client_port->arm());
  pair.client_port->progress(kStartNs);
  pair.client_port.collect();
  const auto completion = pair.client_port.take(CompletionKind::kSend, kClientToken);
  BOOST_REQUIRE(completion.has_value());
  BOOST_TEST(completion->status.error() == EFAULT);
  BOOST_TEST(pair.client_port->arm());
  ::munmap(gone, kPage);
}

BOOST_AUTO_TEST_CASE(a_look_finds_the_end_of_the_stream) {
  come_alone();
  pair.client->close();
  BOOST_TEST(server_port().has_news());
  BOOST_TEST(server_port().take_news(false));
  pair.server_gets(CompletionKind::kDisconnected);
}

BOOST_AUTO_TEST_SUITE_END()
