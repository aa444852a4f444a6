// The mistakes that programs make with the library, with sockets and with peers, and what each is told: never an errno
// alone. The table is printed at the end. Those with memory and transfers are in transfer_test.cc.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>

#include "base/unique_fd.h"
#include "tests/mistakes/fixture.h"
#include "tests/support/child_process.h"
#include "tests/support/environment_setting.h"

namespace exs::test {
BOOST_AUTO_TEST_SUITE(mistakes_test)

BOOST_AUTO_TEST_CASE(the_library_is_not_initialized) {
  told_by_call("no exs_init", exs_qcreate(1), "call exs_init(EXS_VERSION) first");
  told_by_call("exs_init(2)", exs_init(2), "interface version 2 is unknown; this library knows 1");
}

BOOST_AUTO_TEST_CASE(the_environment_means_nothing) {
  const char* const wrong[][2] = {{"EXS_SHARDS", "many"},     {"EXS_PROVIDER", "pigeon"},
                                  {"EXS_LOG", "loud"},        {"EXS_IWARP_BACKEND", "select"},
                                  {"EXS_SHM_USERS", "root"},  {"EXS_EXPLAIN", "maybe"},
                                  {"EXS_IWARP_CRC", "maybe"}, {"EXS_SHM_PROCESS_VM", "?"}};
  for (const auto& [name, value] : wrong) {
    const EnvironmentSetting setting(name, value);
    told_by_call(std::string(name) + "=" + value, exs_init(EXS_VERSION),
                 std::string_view(name) == "EXS_PROVIDER" ? "with X one of: " : ": give ");
  }
  const EnvironmentSetting setting("EXS_PROVIDER", "sim:seed=many");
  told_by_call("EXS_PROVIDER=sim:seed=many", exs_init(EXS_VERSION), "give seed= a number");
}

BOOST_FIXTURE_TEST_SUITE(initialized, Mistaken)

BOOST_AUTO_TEST_CASE(the_socket_is_of_a_kind_that_exs_has_not) {
  told_by_call("SOCK_NONBLOCK", exs_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), "without SOCK_NONBLOCK");
  told_by_call("SOCK_DGRAM", exs_socket(AF_INET, SOCK_DGRAM, 0), "the type is SOCK_SEQPACKET or SOCK_STREAM");
  told_by_call("AF_UNIX", exs_socket(AF_UNIX, SOCK_STREAM, 0), "neither AF_INET nor AF_INET6");
  told_by_call("IPPROTO_TCP", exs_socket(AF_INET, SOCK_STREAM, IPPROTO_TCP), "and the protocol 0");
}

BOOST_AUTO_TEST_CASE(a_handle_is_stale_or_in_use) {
  const exs_qhandle_t stale = exs_qcreate(1);
  BOOST_REQUIRE_EQUAL(exs_qdelete(stale), 0);
  told_by_call("a stale queue", exs_qpost(stale, nullptr, nullptr), "is no queue");
  const int closed = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_REQUIRE_EQUAL(exs_close(closed), 0);
  told_by_call("closed twice", exs_close(closed), "is no socket that exs can use");
  const Pair pair(queue);
  Memory memory(8);
  BOOST_REQUIRE_EQUAL(post_receive(pair.left, memory, 8), 0);
  told_by_call("a queue in use is deleted", exs_qdelete(queue.handle()), "still have slots of the queue");
  told_by_call("a region in use is released", exs_mderegister(memory.handle(), 0),
               "operations still use the region");
  BOOST_REQUIRE_EQUAL(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES), 1);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(a_descriptor_is_not_a_socket_of_exs) {
  Memory memory(8);
  const UniqueFd file(::open("/dev/null", O_RDWR | O_CLOEXEC));
  told_by_call("a file", post_send(file.get(), memory, 8), "is no socket that exs can use");
  const UniqueFd datagrams(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  told_by_call("a UDP socket", post_send(datagrams.get(), memory, 8), "connected or listening stream socket");
  const UniqueFd unconnected(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  told_by_call("an unconnected TCP socket", post_send(unconnected.get(), memory, 8),
               "the socket is not connected");
}

BOOST_AUTO_TEST_CASE(a_stream_meets_messages) {
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  const int stream = exs_socket(AF_INET, SOCK_STREAM, 0);
  const std::string outcome = connect(stream, listening.address());
  told("STREAM against SEQPACKET, client", "EXS_EVT_CONNECT " + outcome, error_text(stream),
       "the server listens with a SOCK_SEQPACKET socket, and this one is SOCK_STREAM");
  told("STREAM against SEQPACKET, server", "log", log.with(" refused 127.0.0.1:"),
       "that is a SOCK_STREAM socket, and this one listens for SOCK_SEQPACKET");
  BOOST_TEST(exs_close(stream) == 0);
}

BOOST_AUTO_TEST_CASE(flags_mean_nothing) {
  const Pair pair(queue);
  Memory memory(8);
  told_by_call("MSG_PEEK", post_receive(pair.left, memory, 8, MSG_PEEK), "does not take the flags 0x2");
  told_by_call("MSG_OOB", post_send(pair.left, memory, 8, MSG_OOB), "does not take the flags 0x1");
  told_by_call("garbage in the flags", post_send(pair.left, memory, 8, 0x4000000),
               "its page lists those it takes");
  std::size_t beyond = EXS_SMALL_MAX + 1;
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  told_by_call("a limit out of range", exs_fcntl(fresh, EXS_F_SET_SMALL_MAX, beyond),
               "give a number from 0 to 32768");
  BOOST_TEST(exs_close(fresh) == 0);
}

BOOST_AUTO_TEST_CASE(addresses_do_not_do) {
  const ListeningSocket listening;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in used = listening.address();
  told_by_call("a port in use", exs_bind(socket, generic(used), sizeof used), "another socket has the port");
  sockaddr_in foreign = loopback();
  foreign.sin_addr.s_addr = htonl(0xC0000201);  // 192.0.2.1, in no network
  told_by_call("a foreign address", exs_bind(socket, generic(foreign), sizeof foreign),
               "no interface of this host has that address");
  sockaddr_in deserted{};
  {
    const RawListener gone;
    deserted = gone.address();
  }
  const std::string outcome = connect(socket, deserted);
  told("nobody listens", "EXS_EVT_CONNECT " + outcome, error_text(socket),
       "nobody listens there; start the server");
  told_by_call("a second connect",
               exs_connect(socket, generic(deserted), sizeof deserted, 0, queue.handle(), nullptr),
               "a socket connects once, make another one");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_CASE(the_server_is_not_one_of_exs) {
  const RawListener waiting;
  const int asking = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_REQUIRE_EQUAL(set_option(asking, EXS_SO_CONNECT_TIMEOUT_MS, 1'000), 0);
  sockaddr_in waiting_address = waiting.address();
  BOOST_REQUIRE_EQUAL(
      exs_connect(asking, generic(waiting_address), sizeof waiting_address, 0, queue.handle(), nullptr), 0);
  const RawPeer silent = waiting.accept();
  const std::string late = queue.next_outcome(asking, EXS_EVT_CONNECT);
  told("http.server, which waits for a line", "EXS_EVT_CONNECT " + late, error_text(asking),
       "so it speaks another protocol, or is stopped");
  BOOST_TEST(exs_close(asking) == 0);
  told_by_answer("a web server that answers", "HTTP/1.1 400 Bad Request\r\n\r\n", 10'000,
                 "it begins with \"HTTP/1.1 400 Bad\"");
}

BOOST_AUTO_TEST_CASE(no_accept_is_posted) {
  const ListeningSocket listening;
  told_by_connect(
      "an accept never posted", listening.address(), 50,
      "because its process is stopped, or posted no exs_accept; an exs server must post exs_accept");
  told_by_answer("an accept not posted again", "MPA ID Rep Frame", 1'000,
                 "another after each EXS_EVT_ACCEPT");
}

BOOST_AUTO_TEST_CASE(strangers_connect_to_a_server) {
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  std::deque<RawPeer> silent;
  for (int i = 0; i < 40; ++i) silent.emplace_back(listening.address());
  for (int i = 0; i < 40; ++i) {
    RawPeer browser(listening.address());
    browser.send(bytes_of("GET / HTTP/1.1\r\n\r\n"));
    browser.await_end();
  }
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(connect(socket, listening.address()) == "0");
  const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(accepted.exs_evt_errno == 0);
  told("garbage, and silent strangers", "EXS_EVT_ACCEPT ok",
       sentence_of("exs_listen.3", "limits each incoming handshake"), "5000 ms by default");
  BOOST_TEST(exs_close(socket) == 0);
  BOOST_TEST(exs_close(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
}

BOOST_AUTO_TEST_CASE(the_peer_breaks_the_connection) {
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  RawPeer peer(listening.address());
  peer.connect_as_exs();
  const int server =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  Memory memory(8);
  BOOST_REQUIRE_EQUAL(post_receive(server, memory, 8), 0);
  peer.reset();
  const std::string outcome = queue.next_outcome(server, EXS_EVT_RECV);
  told("the peer is killed", "EXS_EVT_RECV " + outcome, error_text(server),
       "see whether the peer's process was killed");
  BOOST_TEST(exs_close(server) == 0);
}

// The library finds bytes that are not its own.
BOOST_AUTO_TEST_CASE(a_plain_call_writes_into_a_socket) {
  const Pair pair(queue);
  Memory memory(8);
  BOOST_REQUIRE_EQUAL(post_receive(pair.right, memory, 8), 0);
  BOOST_REQUIRE_EQUAL(::write(pair.left, "hello", 5), 5);
  const std::string outcome = queue.next_outcome(pair.right, EXS_EVT_RECV);
  BOOST_TEST(outcome == "EPROTO");
  told("write(2) on a socket, at the peer", "EXS_EVT_RECV " + outcome, error_text(pair.right),
       "nothing but exs may write to the descriptor of the socket");
}

BOOST_AUTO_TEST_CASE(a_plain_call_closes_a_socket) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_REQUIRE_EQUAL(::close(socket), 0);
  const UniqueFd stranger(::dup(STDOUT_FILENO));
  BOOST_REQUIRE_EQUAL(stranger.get(), socket);
  told_by_call("close(2) on a socket, then exs_close", exs_close(socket), "was closed by close(2)");
  BOOST_TEST(::fcntl(stranger.get(), F_GETFD) != -1);
}

// As many descriptors as there are.
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const UniqueFd next(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(next.get());
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};

// Sanitizers need a descriptor now and then.
BOOST_AUTO_TEST_CASE(descriptors_run_out, *boost::unit_test::enable_if<!kSanitized>()) {
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  const int client = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  {
    const NoDescriptors none;
    told_by_call("out of descriptors", exs_socket(AF_INET, SOCK_SEQPACKET, 0), "raise ulimit -n");
    sockaddr_in address = listening.address();
    BOOST_REQUIRE_EQUAL(exs_connect(client, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    while (log.with("accept4 failed").empty()) ::sched_yield();
    // Some more tries, every 100 ms. Expect: they are not told.
    exs_event_t event{};
    for (int i = 0; i < 5; ++i) BOOST_TEST(exs_qwait(queue.handle(), &event, 1, 1, 100'000'000) == 0);
  }
  const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(accepted.exs_evt_errno == 0);
  BOOST_TEST(log.count_with("accept4 failed") == 1U);
  told("a server out of descriptors", "log", log.with("accept4 failed"), "raise ulimit -n");
  BOOST_TEST(exs_close(client) == 0);
  BOOST_TEST(exs_close(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(everything_is_open_at_the_end) {
  BOOST_REQUIRE_EQUAL(exs_init(EXS_VERSION), 0);
  exs_qcreate(8);
  exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const int result = exs_fini();
  told("exs_fini with all open", outcome(result), sentence_of("exs_fini.3", "closes every exs descriptor"),
       "frees every queue, every registration");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
