// exs_connect: what is refused at once, and every way an attempt can end.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>
#include <cerrno>
#include <cstring>

#include "src/wire/codec.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace connect_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);

  ~Fixture() { exs_close(socket); }

  std::string connect(sockaddr_in address, int flags = 0) {
    return outcome(exs_connect(socket, generic(address), sizeof address, flags, queue.handle(), nullptr));
  }
  std::string event() { return queue.next_outcome(socket, EXS_EVT_CONNECT); }
  void limit(int milliseconds) {
    BOOST_REQUIRE_EQUAL(set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, milliseconds), 0);
  }
};

// Returns the address of a port without a listener.
sockaddr_in deserted() {
  const RawListener gone;
  return gone.address();
}

}  // namespace connect_test

BOOST_FIXTURE_TEST_SUITE(connect_test, Fixture)

BOOST_AUTO_TEST_CASE(arguments_are_checked_and_nothing_changes) {
  sockaddr_in address = deserted();
  BOOST_TEST(outcome(exs_connect(socket, nullptr, sizeof address, 0, queue.handle(), nullptr)) == "EFAULT");
  for (const socklen_t length : {0U, 1U, 15U, 129U}) {
    BOOST_TEST(outcome(exs_connect(socket, generic(address), length, 0, queue.handle(), nullptr)) ==
               "EINVAL");
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  BOOST_TEST(outcome(exs_connect(socket, reinterpret_cast<sockaddr*>(&six), sizeof six, 0, queue.handle(),
                                 nullptr)) == "EAFNOSUPPORT");
  BOOST_TEST(connect(address, 1) == "EINVAL");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
  BOOST_TEST(connect(address) == "ok");
  BOOST_TEST(event() == "ECONNREFUSED");
}

BOOST_AUTO_TEST_CASE(a_listening_socket_does_not_connect) {
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  BOOST_TEST(outcome(exs_connect(listening.number(), generic(address), sizeof address, 0, queue.handle(),
                                 nullptr)) == "EINVAL");
}

BOOST_AUTO_TEST_CASE(a_socket_connects_once) {
  const RawListener silent;
  BOOST_TEST(connect(silent.address()) == "ok");
  BOOST_TEST(connect(silent.address()) == "EALREADY");
  const Pair pair(queue);
  sockaddr_in address = silent.address();
  BOOST_TEST(outcome(exs_connect(pair.left, generic(address), sizeof address, 0, queue.handle(), nullptr)) ==
             "EISCONN");
  BOOST_TEST(outcome(exs_connect(pair.right, generic(address), sizeof address, 0, queue.handle(), nullptr)) ==
             "EISCONN");
}

BOOST_AUTO_TEST_CASE(nobody_listens) {
  BOOST_TEST(connect(deserted()) == "ok");
  BOOST_TEST(event() == "ECONNREFUSED");
  BOOST_TEST(connect(deserted()) == "EISCONN");
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(a_silent_peer_times_out) {
  const RawListener silent;
  limit(50);
  BOOST_TEST(connect(silent.address()) == "ok");
  BOOST_TEST(event() == "ETIMEDOUT");
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(a_peer_that_posts_no_accept_times_out) {
  const ListeningSocket listening;
  limit(50);
  BOOST_TEST(connect(listening.address()) == "ok");
  BOOST_TEST(event() == "ETIMEDOUT");
}

BOOST_AUTO_TEST_CASE(a_peer_that_answers_garbage_does_not_speak_exs) {
  const RawListener listening;
  BOOST_TEST(connect(listening.address()) == "ok");
  RawPeer peer = listening.accept();
  peer.send(bytes_of("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n"));
  BOOST_TEST(event() == "EPROTO");
}

BOOST_AUTO_TEST_CASE(a_peer_that_hangs_up_resets_the_connect) {
  for (const bool by_reset : {false, true}) {
    const RawListener listening;
    const int number = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = listening.address();
    BOOST_REQUIRE_EQUAL(exs_connect(number, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    RawPeer peer = listening.accept();
    peer.take_handshake();
    if (by_reset) {
      peer.reset();
    } else {
      peer.end_sending();
    }
    BOOST_TEST(queue.next_outcome(number, EXS_EVT_CONNECT) == "ECONNRESET");
    BOOST_TEST(exs_close(number) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_peer_that_rejects_says_why) {
  const std::pair<wire::RejectReason, const char*> reasons[] = {
      {wire::RejectReason::kRefused, "ECONNREFUSED"},
      {wire::RejectReason::kVersion, "EPROTONOSUPPORT"},
      {wire::RejectReason::kKind, "EPROTOTYPE"},
      {static_cast<wire::RejectReason>(99), "ECONNREFUSED"},
  };
  for (const auto& [reason, expected] : reasons) {
    const RawListener listening;
    const int number = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = listening.address();
    BOOST_REQUIRE_EQUAL(exs_connect(number, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    RawPeer peer = listening.accept();
    BOOST_TEST(peer.take_handshake());
    std::array<std::byte, wire::kRejectBytes> private_data{};
    wire::encode_rejection(reason, private_data);
    peer.reject(private_data);
    BOOST_TEST(queue.next_outcome(number, EXS_EVT_CONNECT) == expected);
    BOOST_TEST(exs_close(number) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_hello_that_does_not_fit_is_told_to_both_sides) {
  struct {
    void (*forge)(wire::HelloFields& hello);
    const char* expected;
  } const cases[] = {
      {[](wire::HelloFields& hello) { hello.version_min = hello.version_max = 9; }, "EPROTONOSUPPORT"},
      {[](wire::HelloFields& hello) { hello.kind = 2; }, "EPROTOTYPE"},
      {[](wire::HelloFields& hello) { hello.send_credits = 0; }, "EPROTO"},
      {[](wire::HelloFields& hello) { hello.version_min = wire::kVersionMax + 1; }, "EPROTO"},
  };
  for (const auto& [forge, expected] : cases) {
    const RawListener listening;
    const int number = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = listening.address();
    BOOST_REQUIRE_EQUAL(exs_connect(number, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    RawPeer peer = listening.accept();
    BOOST_TEST(peer.take_handshake());
    wire::HelloFields hello = honest_hello();
    forge(hello);
    peer.reply(hello);
    BOOST_TEST(queue.next_outcome(number, EXS_EVT_CONNECT) == expected);
    peer.await_end();
    BOOST_TEST(exs_close(number) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_listening_socket_rejects_what_does_not_fit_and_goes_on) {
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  wire::HelloFields other_version = honest_hello();
  other_version.version_min = other_version.version_max = 9;
  RawPeer stranger(listening.address());
  stranger.request(other_version);
  BOOST_TEST(!stranger.take_handshake());
  stranger.await_end();
  BOOST_TEST(connect(listening.address()) == "ok");
  BOOST_TEST(event() == "0");
  BOOST_TEST(queue.next_outcome(listening.number(), EXS_EVT_ACCEPT) == "0");
}

BOOST_AUTO_TEST_CASE(connect_needs_no_accept_in_place_only_in_time) {
  const ListeningSocket listening;
  BOOST_TEST(connect(listening.address()) == "ok");
  BOOST_TEST(connect(listening.address()) == "EALREADY");
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  BOOST_TEST(event() == "0");
  BOOST_TEST(connect(listening.address()) == "EISCONN");
}

BOOST_AUTO_TEST_CASE(ipv6_works_the_same) {
  const int listening = exs_socket(AF_INET6, SOCK_SEQPACKET, 0);
  const int connecting = exs_socket(AF_INET6, SOCK_SEQPACKET, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  auto* generic_address = reinterpret_cast<sockaddr*>(&address);
  socklen_t length = sizeof address;
  if (exs_bind(listening, generic_address, length) != 0 && errno == EADDRNOTAVAIL) {
    BOOST_TEST_MESSAGE("skipped: this machine has no ::1");
    exs_close(listening);
    exs_close(connecting);
    return;
  }
  BOOST_TEST(exs_listen(listening, 1) == 0);
  BOOST_TEST(exs_getsockname(listening, generic_address, &length) == 0);
  sockaddr_in6 peer{};
  exs_acceptaddr_t into{reinterpret_cast<sockaddr*>(&peer), sizeof peer};
  BOOST_TEST(exs_accept(listening, &into, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(exs_connect(connecting, generic_address, length, 0, queue.handle(), nullptr) == 0);
  BOOST_TEST(queue.next_outcome(connecting, EXS_EVT_CONNECT) == "0");
  const int accepted =
      queue.next_of(listening, EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  BOOST_TEST(into.addrlen == sizeof peer);
  BOOST_TEST(peer.sin6_family == AF_INET6);
  sockaddr_in wrong = loopback();
  BOOST_TEST(outcome(exs_bind(connecting, generic(wrong), sizeof wrong)) == "EAFNOSUPPORT");
  BOOST_TEST(exs_close(connecting) == 0);
  BOOST_TEST(exs_close(accepted) == 0);
  BOOST_TEST(exs_close(listening) == 0);
}

BOOST_AUTO_TEST_CASE(closing_while_connecting_cancels_the_connect_first) {
  const RawListener silent;
  for (int round = 0; round < 50; ++round) {
    const int number = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    sockaddr_in address = silent.address();
    BOOST_REQUIRE_EQUAL(exs_connect(number, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    if (round % 2 == 1) silent.accept().take_handshake();
    BOOST_TEST(exs_close(number) == 0);
    // The event is there when close returns.
    BOOST_REQUIRE_EQUAL(attribute(queue.handle(), EXS_QATTR_EVENTS), 1);
    BOOST_TEST(queue.next_outcome(number, EXS_EVT_CONNECT) == "ECANCELED");
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
