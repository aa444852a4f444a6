// Messages, and how links end.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/provider/shm/link_pair.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace link_test {

void post_three(Link& link, std::span<std::byte> room) {
  BOOST_REQUIRE(link.post_recv(slice_of(room.first(4)), 1).ok());
  BOOST_REQUIRE(link.post_recv(slice_of(room.subspan(4, 4)), 2).ok());
}

std::string two_receives(int posts_error, int end_error) {
  const std::string e = ":" + std::to_string(posts_error) + " ";
  return "R1" + e + "R2" + e + "D0:" + std::to_string(end_error) + " ";
}

void wait_for_end(LinkPair& pair, PortDriver& driver, std::uint64_t link) {
  drive_until(pair.both(), [&] {
    return !driver.seen.empty() && driver.seen.back().kind == CompletionKind::kDisconnected &&
           driver.seen.back().link == link;
  });
}

void reset(Socket& socket) {
  const linger abort_on_close{1, 0};
  BOOST_REQUIRE(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &abort_on_close, sizeof abort_on_close) ==
                0);
  socket.close();
}

}  // namespace link_test

BOOST_AUTO_TEST_SUITE(link_test)

// The responder posts at once, but the initiator's link is made only when it has read the answer.
BOOST_AUTO_TEST_CASE(what_the_responder_posts_waits_for_the_initiator) {
  LinkPair pair;
  pair.join_server();
  BOOST_REQUIRE(pair.server->post_send(text_bytes("early"), {}, 1).ok());
  for (int i = 0; i < 10; ++i) {
    pair.server_port.turn();
    pair.client_port.turn();
  }
  BOOST_TEST(pair.server_port.history(kServerToken).empty());
  pair.join_client();
  std::byte room[8];
  BOOST_REQUIRE(pair.client->post_recv(slice_of(room), 2).ok());
  BOOST_TEST(pair.client_gets(CompletionKind::kReceive).length_bytes == 5U);
  BOOST_TEST(pair.server_gets(CompletionKind::kSend).token == 1U);
}

BOOST_AUTO_TEST_CASE(a_full_ring_holds_sends_back_and_loses_none) {
  constexpr std::uint32_t kDepth = 40;
  PairOptions options;
  options.depths = {kDepth, 4 * kDepth, 1, 1};
  LinkPair pair(options);
  pair.join();
  std::vector<std::vector<std::byte>> rooms(4 * kDepth, std::vector<std::byte>(20000));
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    BOOST_REQUIRE(pair.server->post_recv(slice_of(rooms[i]), i).ok());
  }
  // The server's port is not turned, so the ring fills, then the queue.
  std::vector<std::vector<std::byte>> sent;
  for (;;) {
    sent.push_back(pattern(20000, static_cast<unsigned>(sent.size())));
    std::span<std::byte> whole = sent.back();
    const Status status = pair.client->post_send(whole.first(50), slice_of(whole.subspan(50)), sent.size());
    if (status == Status(EAGAIN)) break;
    BOOST_REQUIRE(status.ok());
  }
  sent.pop_back();
  pair.client_port.turn();
  BOOST_TEST(sent.size() - pair.client_port.seen.size() == kDepth);
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Completion received = pair.server_gets(CompletionKind::kReceive);
    BOOST_REQUIRE(received.length_bytes == sent[i].size());
    BOOST_TEST((rooms[received.token] == sent[i]));
    BOOST_TEST(pair.client_gets(CompletionKind::kSend).token == i + 1);
  }
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_the_end_arrives_before_it) {
  LinkPair pair;
  pair.join();
  std::byte room[8];
  BOOST_REQUIRE(pair.server->post_recv(slice_of(room), 1).ok());
  BOOST_REQUIRE(pair.client->post_send(text_bytes("farewell"), {}, 2).ok());
  pair.client->close();
  pair.tcp.client.close();
  wait_for_end(pair, pair.server_port, kServerToken);
  BOOST_TEST(pair.server_port.history(kServerToken) == "R1:0 D0:0 ");
}

BOOST_AUTO_TEST_CASE(reset_of_the_tcp_connection) {
  LinkPair pair;
  pair.join();
  std::byte room[12];
  post_three(*pair.client, room);
  std::byte last[8];
  BOOST_REQUIRE(pair.client->post_recv(slice_of(last), 3).ok());
  BOOST_REQUIRE(pair.server->post_send(text_bytes("last"), {}, 1).ok());
  reset(pair.tcp.server);
  wait_for_end(pair, pair.client_port, kClientToken);
  BOOST_TEST(pair.client_port.history(kClientToken) == "R3:0 " + two_receives(ECONNRESET, ECONNRESET));
}

BOOST_AUTO_TEST_CASE(end_of_the_tcp_connection_without_a_goodbye) {
  LinkPair pair;
  pair.join();
  std::byte room[12];
  post_three(*pair.client, room);
  BOOST_REQUIRE(::shutdown(pair.tcp.server.get(), SHUT_WR) == 0);
  pair.client_port.turn();
  pair.client_port.ahead_ns += 10'000'000'000;
  wait_for_end(pair, pair.client_port, kClientToken);
  BOOST_TEST(pair.client_port.history(kClientToken) == two_receives(ECONNRESET, ECONNRESET));
  // Expect: the other end hears that something was lost.
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.error() == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(bytes_on_the_tcp_connection_end_the_link) {
  LinkPair pair;
  pair.join();
  iwarp::test::write_all(pair.tcp.server, text_bytes("?"));
  BOOST_TEST(pair.client_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
}

BOOST_AUTO_TEST_CASE(end_of_the_peer_s_port) {
  LinkPair pair;
  pair.join();
  std::byte room[12];
  post_three(*pair.client, room);
  // As of a process that dies: nothing is said, descriptors close.
  pair.server.reset();
  pair.server_port.destroy_port();
  pair.tcp.server.close();
  const DrivenPorts client = {&pair.client_port};
  drive_until(client, [&] { return !pair.client_port.seen.empty(); });
  BOOST_TEST(pair.client_port.history(kClientToken) == two_receives(ECONNRESET, 0));
}

BOOST_AUTO_TEST_CASE(close_completes_everything_with_ecanceled) {
  LinkPair pair;
  pair.join_server();  // whose posts wait for the client's greeting
  std::byte room[12];
  post_three(*pair.server, room);
  BOOST_REQUIRE(pair.server->post_read(slice_of(room), {0, 12, 99}, 3).ok());
  BOOST_REQUIRE(pair.server->post_send(text_bytes("never leaves"), {}, 4).ok());
  BOOST_REQUIRE(pair.server->post_write({room, 4, {}}, {0, 4, 1}, 5).ok());
  pair.server->close();
  pair.server_port.turn();
  const std::string e = ":" + std::to_string(ECANCELED) + " ";
  BOOST_TEST(pair.server_port.history(kServerToken) == "S4" + e + "W5" + e + "r3" + e + "R1" + e + "R2" + e);
  BOOST_TEST(pair.server->post_recv({}, 0).error() == ENOTCONN);
  BOOST_TEST(pair.server->post_read({}, {}, 0).error() == ENOTCONN);
  BOOST_TEST(pair.server->post_write({}, {}, 0).error() == ENOTCONN);
  BOOST_TEST(!pair.server->expose({room, 4, {}}, Access::kRemoteRead).has_value());
  // Expect: who takes its place afterwards finds an orderly end.
  pair.join_client();
  BOOST_TEST(pair.client_gets(CompletionKind::kDisconnected).status.ok());
}

BOOST_AUTO_TEST_CASE(goodbye_waits_for_room_in_the_ring) {
  PairOptions options;
  options.depths = {4, 64, 1, 1};
  LinkPair pair(options);
  pair.join();
  std::vector<std::byte> large(60000);
  std::vector<std::vector<std::byte>> rooms(10, std::vector<std::byte>(60000));
  for (auto& room : rooms) BOOST_REQUIRE(pair.server->post_recv(slice_of(room), 1).ok());
  int posted = 0;
  while (pair.client->post_send({}, slice_of(large), 1).ok()) ++posted;
  // The rest of the ring too.
  while (pair.client_port.history(kClientToken).size() < 1) pair.client_port.turn();
  pair.client->close();
  pair.tcp.client.close();
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.ok());
}

BOOST_AUTO_TEST_CASE(depths_and_lengths_are_kept) {
  PairOptions options;
  options.depths = {2, 2, 2, 2};
  LinkPair pair(options);
  pair.join();
  std::byte room[4];
  std::vector<std::byte> large(65001);
  for (std::uint64_t i = 0; i < 2; ++i) BOOST_TEST(pair.client->post_recv(slice_of(room), i).ok());
  BOOST_TEST(pair.client->post_recv(slice_of(room), 2).error() == EAGAIN);
  BOOST_TEST(pair.client->post_send({}, slice_of(large), 1).error() == EMSGSIZE);
  BOOST_TEST(pair.client->post_send(std::span(large).first(1), {large.data(), 65000, {}}, 1).error() ==
             EMSGSIZE);
  BOOST_TEST(pair.client->post_read(slice_of(large), {0, 10, 1}, 1).error() == EINVAL);
  BOOST_TEST(pair.client->post_write(slice_of(large), {0, 10, 1}, 1).error() == EINVAL);
}

BOOST_AUTO_TEST_CASE(message_without_a_receive_ends_the_link) {
  LinkPair pair;
  pair.join();
  BOOST_REQUIRE(pair.client->post_send(text_bytes("to nobody"), {}, 1).ok());
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
  BOOST_TEST(pair.client_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
}

BOOST_AUTO_TEST_CASE(message_longer_than_its_receive_ends_the_link) {
  LinkPair pair;
  pair.join();
  std::byte room[8] = {};
  BOOST_REQUIRE(pair.server->post_recv({room, 4, {}}, 1).ok());
  BOOST_REQUIRE(pair.client->post_send(text_bytes("12345"), {}, 1).ok());
  wait_for_end(pair, pair.server_port, kServerToken);
  BOOST_TEST(pair.server_port.history(kServerToken) ==
             "R1:" + std::to_string(EPROTO) + " D0:" + std::to_string(EPROTO) + " ");
  BOOST_TEST(std::all_of(room, room + 8, [](std::byte byte) { return byte == std::byte{0}; }));
}

BOOST_AUTO_TEST_CASE(many_links_share_a_channel) {
  LinkPair first;
  first.join();
  // A second link between the same two ports.
  TcpPair tcp;
  Reason why;
  auto offer = first.client_port->upgrade()->offer(why);
  BOOST_REQUIRE(offer.has_value());
  auto request = first.server_port->upgrade()->begin(offer->invitation, kMeetingToken);
  BOOST_REQUIRE(
      await(first.both(), first.server_port, CompletionKind::kUpgradeReady, kMeetingToken).status.ok());
  auto server =
      first.server_port->upgrade()->adopt(std::move(*request), tcp.server.get(), {{}, first.depths}, 12);
  auto client = first.client_port->upgrade()->adopt(std::move(offer->pending), tcp.client.get(),
                                                    {{}, first.depths}, 11);
  BOOST_REQUIRE(server.has_value() && client.has_value());
  std::byte rooms[2][8];
  BOOST_REQUIRE(first.server->post_recv(slice_of(rooms[0]), 1).ok());
  BOOST_REQUIRE((*server)->post_recv(slice_of(rooms[1]), 2).ok());
  BOOST_REQUIRE((*client)->post_send(text_bytes("second"), {}, 1).ok());
  BOOST_REQUIRE(first.client->post_send(text_bytes("one"), {}, 1).ok());
  BOOST_TEST(first.server_gets(CompletionKind::kReceive).length_bytes == 3U);
  BOOST_TEST(await(first.both(), first.server_port, CompletionKind::kReceive, 12).length_bytes == 6U);
  // One of them breaks the rules: the other goes on.
  BOOST_REQUIRE((*client)->post_send(text_bytes("to nobody"), {}, 1).ok());
  BOOST_TEST(await(first.both(), first.server_port, CompletionKind::kDisconnected, 12).status.error() ==
             EPROTO);
  BOOST_REQUIRE(first.server->post_recv(slice_of(rooms[0]), 1).ok());
  BOOST_REQUIRE(first.client->post_send(text_bytes("still"), {}, 1).ok());
  BOOST_TEST(first.server_gets(CompletionKind::kReceive).length_bytes == 5U);
}

BOOST_AUTO_TEST_CASE(this_port_makes_no_connections_of_its_own) {
  PortDriver driver;
  BOOST_TEST(driver->connector() == nullptr);
  BOOST_TEST(driver->single_issuer() == nullptr);
}

BOOST_AUTO_TEST_SUITE_END()
