// How links end: by close(), by the peer's FIN or reset, by a fault of the peer, by its Terminate; and
// windows.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/provider/iwarp/byte_peer.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace ending_test {

std::string expected_history(int posts_error, int end_error) {
  const std::string e = ":" + std::to_string(posts_error) + " ";
  return "r3" + e + "R1" + e + "R2" + e + "D0:" + std::to_string(end_error) + " ";
}

void post_three(Link& link, std::span<std::byte> room) {
  BOOST_REQUIRE(link.post_recv(slice_of(room.first(4)), 1).ok());
  BOOST_REQUIRE(link.post_recv(slice_of(room.subspan(4, 4)), 2).ok());
  BOOST_REQUIRE(link.post_read(slice_of(room.subspan(8, 4)), {0, 4, 99}, 3).ok());
}

void wait_for_end(PortDriver& driver, std::uint64_t link) {
  const DrivenPorts drivers = {&driver};
  drive_until(drivers, [&] {
    return !driver.seen.empty() && driver.seen.back().kind == CompletionKind::kDisconnected &&
           driver.seen.back().link == link;
  });
}

bool is_quiet(PortDriver& driver) {
  pollfd wait{driver->wait_fd(), POLLIN, 0};
  return ::poll(&wait, 1, 0) == 0;
}

}  // namespace ending_test

BOOST_AUTO_TEST_SUITE(ending_test)

BOOST_AUTO_TEST_CASE(orderly_end_of_the_peer) {
  AskedBytePeer asked;
  asked.join(mpa_reply());
  std::byte room[12];
  post_three(*asked.link, room);
  asked.peer.close();
  wait_for_end(asked.driver, kClientToken);
  BOOST_TEST(asked.driver.history(kClientToken) == expected_history(ECONNRESET, 0));
  BOOST_TEST(asked.link->post_send({}, {}, 1).error() == ENOTCONN);
  BOOST_TEST(is_quiet(asked.driver));
  asked.link->close();
  asked.driver.turn();
  BOOST_TEST(asked.driver.history(kClientToken) == expected_history(ECONNRESET, 0));
}

BOOST_AUTO_TEST_CASE(end_inside_an_fpdu_is_a_reset) {
  const Bytes message = send_fpdu(1, from_hex("0102"));
  for (std::size_t at = 1; at < message.size(); at += 5) {
    AskedBytePeer asked;
    asked.join(mpa_reply());
    std::byte room[12];
    post_three(*asked.link, room);
    asked.driver.turn();
    write_all(asked.peer, std::span(message).first(at));
    ::shutdown(asked.peer.get(), SHUT_WR);
    wait_for_end(asked.driver, kClientToken);
    BOOST_TEST(asked.driver.history(kClientToken) == expected_history(ECONNRESET, ECONNRESET));
  }
}

BOOST_AUTO_TEST_CASE(reset_of_the_peer) {
  AskedBytePeer asked;
  asked.join(mpa_reply());
  std::byte room[12];
  post_three(*asked.link, room);
  asked.driver.turn();
  const linger abort_on_close{1, 0};
  BOOST_REQUIRE(
      ::setsockopt(asked.peer.get(), SOL_SOCKET, SO_LINGER, &abort_on_close, sizeof abort_on_close) == 0);
  asked.peer.close();
  wait_for_end(asked.driver, kClientToken);
  BOOST_TEST(asked.driver.history(kClientToken) == expected_history(ECONNRESET, ECONNRESET));
}

BOOST_AUTO_TEST_CASE(terminate_of_the_peer) {
  AskedBytePeer asked;
  asked.join(mpa_reply());
  std::byte room[12];
  post_three(*asked.link, room);
  Untagged head;
  head.rdmap = 0x47;
  head.queue = 2;
  write_all(asked.peer, untagged_fpdu(head, from_hex("10000700")));
  wait_for_end(asked.driver, kClientToken);
  BOOST_TEST(asked.driver.history(kClientToken) == expected_history(EPROTO, EPROTO));
}

BOOST_AUTO_TEST_CASE(fault_of_the_peer_is_answered_by_a_terminate) {
  for (const bool crc : {false, true}) {
    AskedBytePeer asked;
    asked.join(mpa_reply(crc ? 0x50 : 0x10));
    std::byte room[12];
    post_three(*asked.link, room);
    read_from(asked.driver, asked.peer, 52);
    const Bytes write = write_fpdu(0x12345678, 0, from_hex("01"));
    // More than the fault itself is on its way: it must not turn our last words into a reset.
    write_all(asked.peer, joined({write, Bytes(30000)}));
    const Bytes words = read_from(asked.driver, asked.peer, 100);
    Untagged head;
    head.rdmap = 0x47;
    head.queue = 2;
    Bytes body = from_hex("1100c000");
    body.insert(body.end(), write.begin(), write.begin() + 16);
    Bytes expected = untagged_fpdu(head, body);
    if (!crc) std::fill(expected.end() - 4, expected.end(), std::byte{0});
    BOOST_TEST(to_hex(words) == to_hex(expected));
    BOOST_TEST(asked.driver.history(kClientToken) == expected_history(EPROTO, EPROTO));
    BOOST_TEST(is_quiet(asked.driver));
  }
}

BOOST_AUTO_TEST_CASE(close_completes_everything_with_ecanceled_and_sends_fin) {
  LinkPair pair;
  pair.join();
  pair.first_message();
  std::byte room[12];
  post_three(*pair.client, room);
  BOOST_REQUIRE(pair.client->post_send(bytes_of("never leaves"), {}, 4).ok());
  BOOST_REQUIRE(pair.client->post_write({room, 4, {}}, {0, 4, 1}, 5).ok());
  pair.client->close();
  pair.client_port.collect();
  const std::string e = ":" + std::to_string(ECANCELED) + " ";
  BOOST_TEST(pair.client_port.history(kClientToken) == "S4" + e + "W5" + e + "r3" + e + "R1" + e + "R2" + e);
  // Expect: the peer sees an orderly end; no kDisconnected on our side.
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.ok());
  pair.client_port.turn();
  BOOST_TEST(!pair.client_port.take(CompletionKind::kDisconnected, kClientToken));
  BOOST_TEST(pair.client->post_recv({}, 0).error() == ENOTCONN);
  BOOST_TEST(pair.client->post_read({}, {}, 0).error() == ENOTCONN);
  BOOST_TEST(pair.client->post_write({}, {}, 0).error() == ENOTCONN);
  BOOST_TEST(!pair.client->expose({room, 4, {}}, Access::kRemoteRead).has_value());
}

BOOST_AUTO_TEST_CASE(what_has_left_stays_left) {
  LinkPair pair;
  pair.join();
  std::byte room[8];
  BOOST_REQUIRE(pair.server->post_recv({room, sizeof room, {}}, 1).ok());
  BOOST_REQUIRE(pair.client->post_send(bytes_of("farewell"), {}, 2).ok());
  pair.client_port->flush();
  pair.client->close();
  BOOST_TEST(pair.server_gets(CompletionKind::kReceive).status.ok());
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.ok());
}

BOOST_AUTO_TEST_CASE(close_before_the_handshake_is_done) {
  LinkPair pair;
  Result<std::unique_ptr<Link>> link = pair.client_port->connector()->connect(
      pair.client_socket.get(), pair.listening.as_sockaddr(), sizeof pair.listening.address,
      {bytes_of("ours"), pair.depths}, 9);
  BOOST_REQUIRE(link.has_value());
  BOOST_TEST((*link)->private_data().empty());
  BOOST_REQUIRE((*link)->post_recv({}, 1).ok());
  BOOST_REQUIRE((*link)->post_send({}, {}, 2).ok());
  (*link)->close();
  pair.client_port.turn();
  const std::string e = ":" + std::to_string(ECANCELED) + " ";
  BOOST_TEST(pair.client_port.history(9) == "S2" + e + "R1" + e);
}

BOOST_AUTO_TEST_CASE(close_while_the_socket_is_full) {
  LinkPair pair;
  pair.join();
  std::vector<std::byte> target(64);
  const Result<RemoteSlice> window = pair.server->expose(slice_of(target), Access::kRemoteWrite);
  BOOST_REQUIRE(window.has_value());
  // The server's port is not driven, so this cannot all leave.
  std::vector<std::byte> large(64'000'000);
  RemoteSlice to = *window;
  to.length_bytes = large.size();
  BOOST_REQUIRE(pair.client->post_write(slice_of(large), to, 1).ok());
  pair.client_port.turn();
  pair.client_port.turn();
  BOOST_TEST(pair.client_port.history(kClientToken).empty());
  pair.client->close();
  pair.client_port.collect();
  BOOST_TEST(pair.client_port.history(kClientToken) == "W1:" + std::to_string(ECANCELED) + " ");
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
}

BOOST_AUTO_TEST_CASE(depths_and_lengths_are_kept) {
  PairOptions options;
  options.depths = {2, 2, 2, 2};
  LinkPair pair(options);
  pair.join();
  std::byte room[4];
  std::vector<std::byte> large(65001);
  for (std::uint64_t i = 0; i < 2; ++i) {
    BOOST_TEST(pair.client->post_send({}, {}, i).ok());
    BOOST_TEST(pair.client->post_recv({room, 4, {}}, i).ok());
    BOOST_TEST(pair.client->post_read({room, 4, {}}, {0, 4, 1}, i).ok());
  }
  BOOST_TEST(pair.client->post_send({}, {}, 9).error() == EAGAIN);
  BOOST_TEST(pair.client->post_recv({room, 4, {}}, 9).error() == EAGAIN);
  BOOST_TEST(pair.client->post_read({room, 4, {}}, {0, 4, 1}, 9).error() == EAGAIN);
  BOOST_TEST(pair.client->post_send({}, slice_of(large), 9).error() == EMSGSIZE);
  BOOST_TEST(pair.client->post_read({room, 4, {}}, {0, 3, 1}, 9).error() == EINVAL);
  BOOST_TEST(pair.client->post_write({room, 4, {}}, {0, 3, 1}, 9).error() == EINVAL);
}

BOOST_AUTO_TEST_CASE(keys_are_fresh_and_of_one_link_alone) {
  LinkPair one;
  one.join();
  LinkPair two;
  two.join();
  std::vector<std::byte> memory = pattern(100);
  std::byte sink[4];
  const Result<RemoteSlice> first = one.server->expose(slice_of(memory), Access::kRemoteReadWrite);
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->address == 0U);
  BOOST_TEST(first->length_bytes == 100U);
  BOOST_TEST(one.server->withdraw(first->key).ok());
  BOOST_TEST(one.server->withdraw(first->key).error() == EINVAL);
  const Result<RemoteSlice> second = one.server->expose(slice_of(memory), Access::kRemoteReadWrite);
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST(second->key != first->key);
  BOOST_TEST(!one.server->expose({memory.data(), 0, {}}, Access::kRemoteRead).has_value());
  BOOST_TEST(!one.server->expose(slice_of(memory), Access::kLocal).has_value());
  // Expect: a key works on its own link, and ends another link that uses it.
  BOOST_REQUIRE(one.client->post_read({sink, 4, {}}, *second, 1).ok());
  BOOST_TEST(one.client_gets(CompletionKind::kRead).status.ok());
  BOOST_REQUIRE(two.client->post_read({sink, 4, {}}, *second, 1).ok());
  BOOST_TEST(two.client_gets(CompletionKind::kRead).status.error() == EPROTO);
  BOOST_TEST(two.client_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
  BOOST_TEST(two.server_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
  // Expect: the withdrawn key is refused.
  BOOST_REQUIRE(one.client->post_write({sink, 4, {}}, *first, 1).ok());
  BOOST_TEST(one.client_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
}

BOOST_AUTO_TEST_CASE(window_being_read_or_written_cannot_be_withdrawn) {
  LinkPair pair;
  pair.join();
  pair.first_message();
  std::vector<std::byte> memory = pattern(64'000'000);
  std::vector<std::byte> sink(memory.size());
  const Result<RemoteSlice> window = pair.server->expose(slice_of(memory), Access::kRemoteRead);
  BOOST_REQUIRE(pair.client->post_read(slice_of(sink), *window, 1).ok());
  pair.client_port.turn();
  // The client's port is not driven: the answer fills the socket and stays.
  const DrivenPorts server_only = {&pair.server_port};
  drive_until(server_only, [&] { return pair.server->withdraw(window->key) == Status(EBUSY); });
  BOOST_TEST(pair.client_gets(CompletionKind::kRead).status.ok());
  BOOST_TEST((sink == memory));
  drive_until(pair.both(), [&] { return pair.server->withdraw(window->key).ok(); });
}

BOOST_AUTO_TEST_CASE(window_in_the_middle_of_a_write_cannot_be_withdrawn) {
  ServedBytePeer served;
  served.join(mpa_request(), 27);
  std::vector<std::byte> memory(100);
  const Result<RemoteSlice> window = served.link->expose(slice_of(memory), Access::kRemoteWrite);
  BOOST_REQUIRE(window.has_value());
  const Bytes write = write_fpdu(window->key, 0, pattern(50));
  write_all(served.peer, std::span(write).first(30));
  const DrivenPorts drivers = {&served.driver};
  drive_until(drivers, [&] { return memory[0] != std::byte{0}; });
  BOOST_TEST(served.link->withdraw(window->key).error() == EBUSY);
  write_all(served.peer, std::span(write).subspan(30));
  drive_until(drivers, [&] { return memory[49] == pattern(50)[49]; });
  BOOST_TEST(served.link->withdraw(window->key).ok());
}

BOOST_AUTO_TEST_SUITE_END()
