// EXS_SO_ERROR_TEXT: each way in which a connection, or its set-up, can fail reads differently.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <string>
#include <string_view>

#include "base/socket_address.h"
#include "src/wire/codec.h"
#include "tests/api/kernel_sockets.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/raw_peer.h"

namespace exs::test {
namespace error_text_test {

constexpr std::string_view kMpaReplyKey = "MPA ID Rep Frame";

std::string error_text(int socket) {
  char text[512];
  socklen_t length = sizeof text;
  BOOST_REQUIRE_EQUAL(exs_getsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, text, &length), 0);
  BOOST_REQUIRE_EQUAL(length, std::strlen(text) + 1);
  return text;
}

std::string name_of(sockaddr_in address) {
  sockaddr_storage any{};
  std::memcpy(&any, &address, sizeof address);
  return text_of(any);
}

bool tells(const std::string& text, std::string_view words) {
  const bool told = text.find(words) != text.npos;
  if (!told) BOOST_TEST_MESSAGE("the text is: " << text);
  return told;
}

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);

  ~Fixture() { exs_close(socket); }

  void connect(sockaddr_in address, int limit_ms = 10'000) const {
    BOOST_REQUIRE_EQUAL(set_option(socket, EXS_SO_CONNECT_TIMEOUT_MS, limit_ms), 0);
    BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
  }
  std::string outcome_of_connect() { return queue.next_outcome(socket, EXS_EVT_CONNECT); }

  // Listens on a port of its own, with an accept posted.
  [[nodiscard]] int listen_with(int type, const std::string& choice) const {
    const int listening = exs_socket(AF_INET, type, 0);
    choose_provider(listening, choice);
    sockaddr_in address = loopback();
    BOOST_REQUIRE_EQUAL(exs_bind(listening, generic(address), sizeof address), 0);
    BOOST_REQUIRE_EQUAL(exs_listen(listening, 4), 0);
    BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, queue.handle(), nullptr), 0);
    return listening;
  }
  static sockaddr_in address_of(int listening) {
    sockaddr_in address{};
    socklen_t length = sizeof address;
    BOOST_REQUIRE_EQUAL(exs_getsockname(listening, generic(address), &length), 0);
    return address;
  }

  // The server's end of a connection with `peer`.
  int accept(RawPeer& peer, int listening) {
    BOOST_REQUIRE_EQUAL(exs_accept(listening, nullptr, 0, queue.handle(), nullptr), 0);
    peer.connect_as_exs();
    return queue.next_of(listening, EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  }
  void post_receive(int number, Memory& memory) const {
    BOOST_REQUIRE_EQUAL(
        exs_recv(number, memory.at(), memory.size_bytes(), 0, queue.handle(), nullptr, memory.handle()), 0);
  }
};

}  // namespace error_text_test

BOOST_FIXTURE_TEST_SUITE(error_text_test, Fixture)

BOOST_AUTO_TEST_CASE(nothing_has_failed) {
  BOOST_TEST(error_text(socket).empty());
  const Pair pair(queue);
  BOOST_TEST(error_text(pair.left).empty());
  BOOST_TEST(exs_close(pair.right) == 0);
  Memory memory(8);
  BOOST_TEST(exs_recv(pair.left, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()) == 0);
  queue.next_of(pair.left, EXS_EVT_RECV);
  BOOST_TEST(error_text(pair.left).empty());
}

BOOST_AUTO_TEST_CASE(nobody_listens) {
  sockaddr_in address{};
  {
    const RawListener gone;
    address = gone.address();
  }
  connect(address);
  BOOST_TEST(outcome_of_connect() == "ECONNREFUSED");
  BOOST_TEST(error_text(socket) ==
             "connecting to " + name_of(address) +
                 ": nobody listens there; start the server, and see that address and port are its own");
}

BOOST_AUTO_TEST_CASE(nothing_comes_from_a_program_that_has_accepted) {
  const RawListener silent;
  connect(silent.address(), 1'000);
  const RawPeer peer = silent.accept();
  BOOST_TEST(outcome_of_connect() == "ETIMEDOUT");
  BOOST_TEST(tells(error_text(socket),
                   "connecting to " + name_of(silent.address()) +
                       ": TCP is connected and the hello of exs sent, but not one byte came back within "
                       "1000 ms; a program there has accepted it, so it speaks another protocol"));
}

BOOST_AUTO_TEST_CASE(a_server_has_never_posted_an_accept) {
  const ListeningSocket listening;
  connect(listening.address(), 50);
  BOOST_TEST(outcome_of_connect() == "ETIMEDOUT");
  BOOST_TEST(tells(
      error_text(socket),
      "no program there has accepted it, because its process is stopped, or posted no exs_accept; an exs "
      "server must post exs_accept after exs_listen"));
}

BOOST_AUTO_TEST_CASE(a_server_tells_that_a_request_waits_for_its_accept) {
  const ListeningSocket listening;
  RawPeer first(listening.address());
  const int accepted = accept(first, listening.number());
  // No accept is posted any more, but the server goes on listening.
  RawPeer second(listening.address());
  second.request(honest_hello());
  BOOST_TEST((second.receive(kMpaReplyKey.size()) == bytes_of(kMpaReplyKey)));
  // Expect: the accept completes the reply.
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  const Bytes flags_revision_and_length = second.receive(4);
  BOOST_REQUIRE_EQUAL(flags_revision_and_length.size(), 4U);
  BOOST_TEST(static_cast<int>(flags_revision_and_length[1]) == 2);
  const exs_event_t event = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(event.exs_evt_errno == 0);
  // These peers do not take part in a close.
  for (const int server : {accepted, event.exs_evt_union.exs_evt_accept.exs_evt_newsocket}) {
    BOOST_TEST(set_option(server, EXS_SO_LINGER_MS, 0) == 0);
    BOOST_TEST(exs_close(server) == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_request_waited_and_no_accept_came) {
  const RawListener listening;
  connect(listening.address(), 1'000);
  RawPeer peer = listening.accept();
  peer.send(bytes_of(kMpaReplyKey));
  BOOST_TEST(outcome_of_connect() == "ETIMEDOUT");
  BOOST_TEST(tells(error_text(socket),
                   "the exs server there has the hello, but posted no exs_accept for it within 1000 ms"));
}

BOOST_AUTO_TEST_CASE(another_protocol_answers) {
  const RawListener listening;
  connect(listening.address());
  RawPeer peer = listening.accept();
  peer.send(bytes_of("HTTP/1.1 400 Bad Request\r\n\r\n"));
  BOOST_TEST(outcome_of_connect() == "EPROTO");
  const std::string text = error_text(socket);
  BOOST_TEST(tells(text, "the answer of " + name_of(listening.address()) + " is not that of an exs server"));
  BOOST_TEST(tells(
      text, "it begins with \"HTTP/1.1 400 Bad\"; see that address and port are those of an exs server"));
}

BOOST_AUTO_TEST_CASE(another_protocol_hangs_up) {
  const RawListener listening;
  connect(listening.address());
  {
    RawPeer peer = listening.accept();
    peer.reset();
  }
  BOOST_TEST(outcome_of_connect() == "ECONNRESET");
  BOOST_TEST(tells(error_text(socket), "TCP was connected, and the server closed it without an answer"));
}

BOOST_AUTO_TEST_CASE(the_types_of_the_ends_differ) {
  const int listening = listen_with(SOCK_STREAM, "auto");
  connect(address_of(listening));
  BOOST_TEST(outcome_of_connect() == "EPROTOTYPE");
  BOOST_TEST(tells(error_text(socket),
                   "the server listens with a SOCK_STREAM socket, and this one is SOCK_SEQPACKET; give "
                   "exs_socket one type at both ends"));
  BOOST_TEST(exs_close(listening) == 0);
}

BOOST_AUTO_TEST_CASE(the_ends_allow_no_common_provider) {
  const int listening = listen_with(SOCK_SEQPACKET, "require:iwarp");
  choose_provider(socket, "require:shm");
  connect(address_of(listening));
  BOOST_TEST(outcome_of_connect() == errno_name(EOPNOTSUPP));
  const std::string text = error_text(socket);
  BOOST_TEST(tells(text, "no provider that both ends allow reaches it; "));
  BOOST_TEST(tells(text, "iwarp: by EXS_SO_PROVIDER or EXS_PROVIDER"));
  BOOST_TEST(
      tells(text, "change EXS_PROVIDER, or the socket option EXS_SO_PROVIDER, at the end that forbids it"));
  BOOST_TEST(exs_close(listening) == 0);
}

BOOST_AUTO_TEST_CASE(a_connection_is_reset) {
  const ListeningSocket listening;
  RawPeer peer(listening.address());
  const int server = accept(peer, listening.number());
  Memory memory(8);
  post_receive(server, memory);
  peer.reset();
  BOOST_TEST(queue.next_outcome(server, EXS_EVT_RECV) == "ECONNRESET");
  BOOST_TEST(tells(error_text(server),
                   "ended: TCP was reset, or closed without a goodbye; see whether the peer's process"));
  BOOST_TEST(tells(error_text(server), "the connection with 127.0.0.1:"));
  // Expect: a call that finds the connection ended tells where the words are, one that waits has them itself.
  BOOST_TEST(outcome(exs_recv(server, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle())) ==
             "ENOTCONN");
  BOOST_TEST(tells(exs_errtext(), "EXS_SO_ERROR_TEXT"));
  BOOST_TEST(exs_close(server) == 0);
}

BOOST_AUTO_TEST_CASE(a_rule_of_the_protocol_is_broken) {
  const ListeningSocket listening;
  RawPeer peer(listening.address());
  const int server = accept(peer, listening.number());
  Memory memory(8);
  post_receive(server, memory);
  wire::Message message;
  message.header = {wire::MessageType::kAck, 0, 1, 77};
  peer.message(message);
  BOOST_TEST(queue.next_outcome(server, EXS_EVT_RECV) == "EPROTO");
  BOOST_TEST(tells(error_text(server), "ended: protocol error: "));
  BOOST_TEST(tells(error_text(server), "; give both ends one release of exs"));
  BOOST_TEST(exs_close(server) == 0);
}

BOOST_AUTO_TEST_CASE(a_text_is_cut_to_the_room) {
  const RawListener listening;
  connect(listening.address(), 50);
  BOOST_TEST(outcome_of_connect() == "ETIMEDOUT");
  char text[11];
  std::memset(text, 'x', sizeof text);
  socklen_t length = sizeof text - 1;
  BOOST_TEST(exs_getsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, text, &length) == 0);
  BOOST_TEST(std::string(text) == "connectin");
  BOOST_TEST(length == 10U);
  BOOST_TEST(text[10] == 'x');
  length = 0;
  BOOST_TEST(outcome(exs_getsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, text, &length)) == "EINVAL");
  BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, text, 1)) == "ENOPROTOOPT");
}

BOOST_AUTO_TEST_CASE(calls_that_wait_have_the_words_in_their_own_text) {
  sockaddr_in address{};
  {
    const RawListener gone;
    address = gone.address();
  }
  BOOST_TEST(outcome(exs_connect_sync(socket, generic(address), sizeof address)) == "ECONNREFUSED");
  BOOST_TEST(exs_errtext() == "exs_connect_sync: " + error_text(socket));
}

// The kernel has forgotten the peer by then.
BOOST_AUTO_TEST_CASE(a_socket_of_the_kernel_tells_how_it_ended) {
  KernelPair pair;
  Memory memory(8);
  const int near = pair.near.number();
  post_receive(near, memory);
  BOOST_TEST(error_text(near).empty());
  pair.far.reset();
  BOOST_TEST(queue.next_outcome(near, EXS_EVT_RECV) == "ECONNRESET");
  BOOST_TEST(tells(error_text(near), "the connection of the kernel's socket " + std::to_string(near) +
                                         " ended: TCP was reset, or closed without a goodbye; see whether"));
  BOOST_TEST(exs_send_sync(near, memory.at(), 8, 0, memory.handle()) == -1);
  BOOST_TEST(tells(exs_errtext(), "ended: TCP was reset"));
  const KernelPair shut;
  ::shutdown(shut.near.number(), SHUT_WR);
  BOOST_TEST(exs_send_sync(shut.near.number(), memory.at(), 8, 0, memory.handle()) == -1);
  BOOST_TEST(tells(exs_errtext(), "ended: the sending direction is shut; see who called shutdown(2)"));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
