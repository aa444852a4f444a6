// MPA set-up in both roles against a peer played by hand.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>

#include <deque>

#include <boost/test/unit_test.hpp>

#include "src/provider/iwarp/limits.h"
#include "tests/provider/iwarp/byte_peer.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace mpa_test {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string reply_hex(unsigned flags, unsigned revision, std::string_view data) {
  return to_hex(mpa_reply(flags, revision, from_hex(data)));
}

// The kernel may keep it waiting: what is full takes nobody.
Socket begin_to_connect(const ListeningSocket& listening) {
  Socket socket = tcp_socket();
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  [[maybe_unused]] const int begun =
      ::connect(socket.get(), listening.as_sockaddr(), sizeof listening.address);
  return socket;
}

bool is_connected(const Socket& socket) {
  pollfd state{socket.get(), POLLOUT, 0};
  return ::poll(&state, 1, 0) == 1 && (state.revents & POLLERR) == 0;
}

}  // namespace mpa_test

BOOST_AUTO_TEST_SUITE(mpa_test)

BOOST_AUTO_TEST_CASE(foreign_request_is_answered_without_our_mark) {
  ServedBytePeer served;
  std::unique_ptr<ConnectionRequest> request =
      served.request(mpa_request(0x10, 2, from_hex("00040006 6162")));
  BOOST_TEST(text_of(request->private_data()) == "ab");
  served.accept(std::move(request));
  // Expect: our IRD 16, our ORD bounded by the peer's IRD 4, the private data bare.
  BOOST_TEST(to_hex(read_from(served.driver, served.peer, 27)) == reply_hex(0x10, 2, "00100004 796573"));
  BOOST_TEST(text_of(served.link->private_data()) == "ab");
}

BOOST_AUTO_TEST_CASE(exs_request_is_answered_with_our_mark) {
  ServedBytePeer served;
  BOOST_TEST(to_hex(served.join(mpa_request(0x10, 2, from_hex("00080008 45585357 6162")), 31)) ==
             reply_hex(0x10, 2, "00100008 45585357 796573"));
  BOOST_TEST(text_of(served.link->private_data()) == "ab");
}

BOOST_AUTO_TEST_CASE(revision_one_is_answered_with_revision_one) {
  ServedBytePeer served;
  BOOST_TEST(to_hex(served.join(mpa_request(0x00, 1, from_hex("6162")), 23)) == reply_hex(0x00, 1, "796573"));
  BOOST_TEST(text_of(served.link->private_data()) == "ab");
}

BOOST_AUTO_TEST_CASE(crc_is_used_when_either_side_wants_it) {
  for (const bool asked : {false, true}) {
    for (const bool wanted : {false, true}) {
      Settings settings;
      settings.want_crc = wanted;
      ServedBytePeer served(settings);
      const unsigned flags = 0x10 | (asked || wanted ? 0x40U : 0U);
      BOOST_TEST(to_hex(served.join(mpa_request(0x10 | (asked ? 0x40U : 0U)), 27)) ==
                 reply_hex(flags, 2, "00100008 796573"));
      // Expect: a wrong CRC is noticed exactly then.
      std::byte room[8];
      BOOST_REQUIRE(served.link->post_recv({room, sizeof room, {}}, 5).ok());
      Bytes message = send_fpdu(1, from_hex("01020304"));
      message.back() ^= std::byte{1};
      write_all(served.peer, message);
      const Completion received = await(served.driver, CompletionKind::kReceive, kServerToken);
      BOOST_TEST(received.status.ok() == !(asked || wanted));
    }
  }
}

BOOST_AUTO_TEST_CASE(request_in_single_bytes_is_complete_with_the_last) {
  ServedBytePeer served;
  served.peer = connect_to(served.listening);
  for (const std::byte byte : mpa_request()) {
    BOOST_TEST(!served.driver.take(CompletionKind::kRequest, kListenerToken));
    write_all(served.peer, {&byte, 1});
    served.driver.turn();
  }
  await(served.driver, CompletionKind::kRequest, kListenerToken);
  BOOST_TEST(served.listener->next_request() != nullptr);
  BOOST_TEST(served.listener->next_request() == nullptr);
}

BOOST_AUTO_TEST_CASE(bad_requests_are_hung_up_on) {
  Bytes long_garbage(4000, std::byte{'x'});
  const Bytes bad[] = {
      from_hex("00"),                                        // garbage from the first byte
      long_garbage,                                          //
      mpa_reply(),                                           // the other role's key
      mpa_request(0x10, 3),                                  // unknown revisions
      mpa_request(0x10, 0),                                  //
      mpa_request(0x10, 2, from_hex("0008")),                // enhanced without its block
      mpa_request(0x10, 2, Bytes(257)),                      // private data too long
      mpa_request(0x10, 2, Bytes(60000)),                    //
      joined({mpa_request(), from_hex("000ec140")}),         // bytes pipelined behind it
      joined({mpa_request(0x10, 2, Bytes(256)), Bytes(1)}),  //
  };
  ServedBytePeer served;
  for (const Bytes& request : bad) {
    const Socket peer = connect_to(served.listening);
    write_all(peer, request);
    BOOST_TEST(is_hung_up_on(served.driver, peer));
  }
  BOOST_TEST(!served.driver.take(CompletionKind::kRequest, kListenerToken));
}

BOOST_AUTO_TEST_CASE(request_cut_off_is_forgotten) {
  ServedBytePeer served;
  Socket peer = connect_to(served.listening);
  const Bytes request = mpa_request();
  write_all(peer, std::span(request).first(19));
  ::shutdown(peer.get(), SHUT_WR);
  BOOST_TEST(is_hung_up_on(served.driver, peer));
  BOOST_TEST(served.driver->next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(silent_and_half_done_peers_are_dropped_at_the_deadline) {
  ServedBytePeer served;
  const Socket silent = connect_to(served.listening);
  const Socket half = connect_to(served.listening);
  const Bytes request = mpa_request();
  write_all(half, std::span(request).first(10));
  const std::uint64_t deadline_ns = kStartNs + 5'000'000'000;
  const DrivenPorts drivers = {&served.driver};
  drive_until(drivers, [&] { return served.driver->next_deadline_ns() == deadline_ns; });
  served.driver.turn();
  served.driver.now_ns = deadline_ns - 1;
  served.driver.turn();
  std::byte byte;
  BOOST_TEST(::recv(silent.get(), &byte, 1, MSG_DONTWAIT) == -1);
  BOOST_TEST(::recv(half.get(), &byte, 1, MSG_DONTWAIT) == -1);
  served.driver.now_ns = deadline_ns;
  BOOST_TEST(is_hung_up_on(served.driver, silent));
  BOOST_TEST(is_hung_up_on(served.driver, half));
  BOOST_TEST(served.driver->next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(of_4000_silent_peers_a_second_none_keeps_a_good_one_out) {
  constexpr std::uint64_t kStepNs = 250'000;
  constexpr std::uint64_t kLimitNs = 200'000'000;
  ServedBytePeer served;
  std::deque<Socket> silent;
  const auto step = [&] {
    silent.push_back(begin_to_connect(served.listening));
    if (silent.size() > 400) silent.pop_front();
    served.driver.now_ns += kStepNs;
    served.driver.turn();
  };
  for (int i = 0; i < 800; ++i) step();
  for (int good = 0; good < 8; ++good) {
    const Socket peer = begin_to_connect(served.listening);
    const std::uint64_t limit_ns = served.driver.now_ns + kLimitNs;
    while (!is_connected(peer) && served.driver.now_ns < limit_ns) step();
    BOOST_REQUIRE(is_connected(peer));
    write_all(peer, mpa_request());
    std::unique_ptr<ConnectionRequest> request;
    for (; request == nullptr && served.driver.now_ns < limit_ns; request = served.listener->next_request())
      step();
    BOOST_TEST(request != nullptr);
  }
}

BOOST_AUTO_TEST_CASE(a_port_that_was_starved_hears_who_has_spoken_before_it_makes_room) {
  constexpr int kPlaces = 128;
  ServedBytePeer served({}, 2 * kPlaces);
  std::vector<Socket> peers;
  for (int i = 0; i < kPlaces; ++i) {
    peers.push_back(connect_to(served.listening));
    served.driver.turn();
  }
  for (const Socket& peer : peers) write_all(peer, mpa_request());
  for (int i = 0; i < kPlaces / 2; ++i) peers.push_back(connect_to(served.listening));
  served.driver.now_ns += 1'000'000'000;
  for (int i = 0; i < kPlaces; ++i) await(served.driver, CompletionKind::kRequest, kListenerToken);
  BOOST_TEST(served.listener->next_request() != nullptr);
}

BOOST_AUTO_TEST_CASE(markers_are_refused_by_a_reply) {
  ServedBytePeer served;
  const Socket peer = connect_to(served.listening);
  write_all(peer, mpa_request(0x90));
  BOOST_TEST(to_hex(read_from(served.driver, peer, 100)) == reply_hex(0x30, 2, "00000000"));
}

BOOST_AUTO_TEST_CASE(rejections_carry_the_reason) {
  ServedBytePeer served;
  std::unique_ptr<ConnectionRequest> request = served.request(mpa_request());
  request->reject(bytes_of("no"));
  BOOST_TEST(to_hex(read_from(served.driver, served.peer, 100)) == reply_hex(0x30, 2, "00000000 6e6f"));
  request.reset();
  // Expect: a request destroyed without an answer is a rejection too.
  served.request(mpa_request(0x10, 2, from_hex("00080008 45585357"))).reset();
  BOOST_TEST(to_hex(read_from(served.driver, served.peer, 100)) == reply_hex(0x30, 2, "00000000 45585357"));
}

BOOST_AUTO_TEST_CASE(request_notices_that_its_peer_left) {
  ServedBytePeer served;
  std::unique_ptr<ConnectionRequest> request = served.request(mpa_request());
  BOOST_TEST(!request->peer_is_gone());
  served.peer.close();
  pollfd wait{request->descriptor(), POLLIN, 0};
  BOOST_REQUIRE(::poll(&wait, 1, kWaitLimitMs) == 1);
  BOOST_TEST(request->peer_is_gone());
}

BOOST_AUTO_TEST_CASE(backlog_bounds_what_is_taken_in) {
  ServedBytePeer served({}, 2);
  std::vector<Socket> peers;
  for (int i = 0; i < 4; ++i) {
    peers.push_back(connect_to(served.listening));
    write_all(peers.back(), mpa_request(0x10, 2, from_hex("00080008 3" + std::to_string(i))));
  }
  std::string order;
  for (int i = 0; i < 4; ++i) {
    await(served.driver, CompletionKind::kRequest, kListenerToken);
    if (i == 0) {
      await(served.driver, CompletionKind::kRequest, kListenerToken);
      // Expect: with two waiting, the port has nothing to do and wakes nobody.
      served.driver.turn();
      pollfd wait{served.driver->wait_fd(), POLLIN, 0};
      BOOST_TEST(::poll(&wait, 1, 0) == 0);
      BOOST_TEST(!served.driver.take(CompletionKind::kRequest, kListenerToken));
      served.driver.seen.push_front({CompletionKind::kRequest, {}, 0, kListenerToken, 0});
    }
    order += text_of(served.listener->next_request()->private_data());
  }
  BOOST_TEST(order == "0123");
}

BOOST_AUTO_TEST_CASE(peer_to_peer_initiator_gets_one_signal_and_opens_us_with_it) {
  struct Offer {
    const char* request;
    const char* reply;
  };
  // C and D offered: C is taken; D alone: D; neither: no peer-to-peer.
  const Offer offers[] = {
      {"8008c008", "80108008 796573"}, {"80084008", "80104008 796573"}, {"c0080008", "00100008 796573"}};
  for (const Offer& offer : offers) {
    ServedBytePeer served;
    BOOST_TEST(to_hex(served.join(mpa_request(0x10, 2, from_hex(offer.request)), 27)) ==
               reply_hex(0x10, 2, offer.reply));
    BOOST_REQUIRE(served.link->post_send(bytes_of("x"), {}, 3).ok());
    // Expect: nothing leaves before the signal.
    served.driver.turn();
    served.driver.turn();
    std::byte byte;
    BOOST_TEST(::recv(served.peer.get(), &byte, 1, MSG_DONTWAIT) == -1);
    const bool by_read = offer.reply[4] == '4';
    write_all(served.peer, by_read ? read_request_fpdu(1, 1, 0, 1, 0) : tagged_fpdu(0xC1, 0x40, 1, 0, {}));
    const Bytes message = untagged_fpdu({}, from_hex("78"));
    const std::size_t answer = by_read ? 20 : 0;
    const Bytes wire = read_from(served.driver, served.peer, answer + message.size());
    BOOST_TEST(to_hex(wire).find(to_hex(std::span(message).first(21))) != std::string::npos);
    if (by_read) BOOST_TEST(to_hex(wire).find("000ec142000000010000000000000000") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(our_request_and_a_foreign_reply) {
  AskedBytePeer asked;
  BOOST_TEST(to_hex(asked.request) == to_hex(mpa_request(0x10, 2, from_hex("00100010 45585357 6869"))));
  BOOST_TEST(asked.link->private_data().empty());
  for (const std::byte byte : mpa_reply(0x50, 2, from_hex("00010001 6f6b"))) {
    BOOST_TEST(!asked.driver.take(CompletionKind::kEstablished, kClientToken));
    write_all(asked.peer, {&byte, 1});
    asked.driver.turn();
  }
  BOOST_TEST(await(asked.driver, CompletionKind::kEstablished, kClientToken).status.ok());
  BOOST_TEST(text_of(asked.link->private_data()) == "ok");
  // Expect: CRC as the reply asked, one read at a time as its IRD says, the message behind the second read.
  std::byte sinks[2][4];
  const RemoteSlice window{0x1000, 4, 0xabcd0100};
  BOOST_REQUIRE(asked.link->post_read({sinks[0], 4, {}}, window, 0).ok());
  BOOST_REQUIRE(asked.link->post_read({sinks[1], 4, {}}, window, 1).ok());
  BOOST_REQUIRE(asked.link->post_send(bytes_of("m"), {}, 2).ok());
  const Bytes first = read_from(asked.driver, asked.peer, 52);
  BOOST_TEST(crc_matches(first.data() + 48, crc_add(kCrcStart, std::span(first).first(48))));
  const ReadRequest request = load_read_request(first.data());
  BOOST_TEST(request.source_offset == 0x1000U);
  BOOST_TEST(request.sink_offset == 0U);
  asked.driver.turn();
  std::byte byte;
  BOOST_TEST(::recv(asked.peer.get(), &byte, 1, MSG_DONTWAIT) == -1);
  write_all(asked.peer, tagged_fpdu(0xC1, 0x42, request.sink_stag, 0, from_hex("01020304")));
  BOOST_TEST(await(asked.driver, CompletionKind::kRead, kClientToken).token == 0U);
  BOOST_TEST(read_from(asked.driver, asked.peer, 52 + 28).size() == 80U);
}

BOOST_AUTO_TEST_CASE(bad_replies_end_the_link) {
  struct Bad {
    Bytes reply;
    int error;
  };
  const Bad bads[] = {
      {from_hex("58"), EPROTO},        {mpa_request(), EPROTO},
      {mpa_reply(0x10, 3), EPROTO},    {mpa_reply(0x10, 2, from_hex("0008")), EPROTO},
      {mpa_reply(0x90), EPROTO},       {joined({mpa_reply(), from_hex("00")}), EPROTO},
      {mpa_reply(0x30), ECONNREFUSED},
  };
  for (const Bad& bad : bads) {
    AskedBytePeer asked;
    write_all(asked.peer, bad.reply);
    BOOST_TEST(asked.ending().error() == bad.error);
    BOOST_TEST(asked.link->post_recv({}, 0).error() == ENOTCONN);
  }
}

BOOST_AUTO_TEST_CASE(rejection_brings_its_reason) {
  AskedBytePeer asked;
  write_all(asked.peer, mpa_reply(0x30, 2, from_hex("00000000 45585357 6e6f")));
  BOOST_TEST(asked.ending().error() == ECONNREFUSED);
  BOOST_TEST(text_of(asked.link->private_data()) == "no");
}

BOOST_AUTO_TEST_CASE(responder_that_closes_instead_of_answering) {
  AskedBytePeer asked;
  asked.peer.close();
  BOOST_TEST(asked.ending().error() == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(nobody_listens) {
  PortDriver driver({});
  ListeningSocket gone;
  gone.socket.close();
  const Socket socket = tcp_socket();
  Result<std::unique_ptr<Link>> link =
      driver->connector()->connect(socket.get(), gone.as_sockaddr(), sizeof gone.address, {}, 7);
  BOOST_REQUIRE(link.has_value());
  BOOST_TEST(await(driver, CompletionKind::kDisconnected, 7).status.error() == ECONNREFUSED);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused_at_once) {
  PortDriver driver({});
  const ListeningSocket listening;
  const Socket socket = tcp_socket();
  const std::vector<std::byte> too_long(249);
  const auto attempt = [&](int descriptor, const ConnectParameters& parameters) {
    const auto link = driver->connector()->connect(descriptor, listening.as_sockaddr(),
                                                   sizeof listening.address, parameters, 7);
    return link ? 0 : link.error().error();
  };
  BOOST_TEST(attempt(socket.get(), {too_long, {}}) == EMSGSIZE);
  BOOST_TEST(attempt(socket.get(), {{}, {1, 1, kReadDepthMax + 1, 1}}) == EINVAL);
  BOOST_TEST(attempt(-1, {}) == EBADF);
}

BOOST_AUTO_TEST_SUITE_END()
