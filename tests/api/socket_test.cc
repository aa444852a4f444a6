// exs_socket, exs_bind, exs_listen, exs_accept, exs_getsockname, exs_getpeername.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace socket_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);

  ~Fixture() { exs_close(socket); }

  std::string bind(sockaddr_in address, int number = -1) {
    return outcome(exs_bind(number < 0 ? socket : number, generic(address), sizeof address));
  }
  std::string accept(int listening, int flags = 0) {
    return outcome(exs_accept(listening, nullptr, flags, queue.handle(), nullptr));
  }
};

}  // namespace socket_test

BOOST_FIXTURE_TEST_SUITE(socket_test, Fixture)

BOOST_AUTO_TEST_CASE(only_message_sockets_of_the_internet_domains_exist) {
  for (const int domain : {int{AF_UNIX}, int{AF_UNSPEC}, int{AF_NETLINK}, -1}) {
    BOOST_TEST(outcome(exs_socket(domain, SOCK_SEQPACKET, 0)) == "EAFNOSUPPORT");
  }
  for (const int type :
       {int{SOCK_DGRAM}, SOCK_SEQPACKET | SOCK_NONBLOCK, SOCK_STREAM | SOCK_NONBLOCK, 0, -1}) {
    BOOST_TEST(outcome(exs_socket(AF_INET, type, 0)) == "EPROTONOSUPPORT");
  }
  BOOST_TEST(outcome(exs_socket(AF_INET, SOCK_SEQPACKET, IPPROTO_TCP)) == "EPROTONOSUPPORT");
  const int six = exs_socket(AF_INET6, SOCK_SEQPACKET, 0);
  BOOST_TEST(six >= 0);
  BOOST_TEST(exs_close(six) == 0);
}

BOOST_AUTO_TEST_CASE(a_socket_is_a_kernel_descriptor_of_the_same_number_closed_on_exec) {
  BOOST_TEST((::fcntl(socket, F_GETFD) & FD_CLOEXEC) == FD_CLOEXEC);
  const int other = ::dup(socket);
  BOOST_TEST(outcome(exs_close(other)) == "EBADF");
  ::close(other);
}

BOOST_AUTO_TEST_CASE(no_descriptor_left_is_emfile) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<int> sockets;
  const rlimit few{.rlim_cur = 30, .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &few);
  int made = 0;
  while ((made = exs_socket(AF_INET, SOCK_SEQPACKET, 0)) >= 0) sockets.push_back(made);
  const std::string error = errno_name(errno);
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(error == "EMFILE");
  for (const int each : sockets) BOOST_TEST(exs_close(each) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_exs_descriptor_is_ebadf_everywhere) {
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  int value = 0;
  char byte = 0;
  const int closed = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(exs_close(closed) == 0);
  for (const int number : {-1, 0, closed, 1 << 19, 1 << 20, 1 << 30}) {
    BOOST_TEST(outcome(exs_bind(number, generic(address), sizeof address)) == "EBADF");
    BOOST_TEST(outcome(exs_listen(number, 1)) == "EBADF");
    BOOST_TEST(accept(number) == "EBADF");
    BOOST_TEST(outcome(exs_connect(number, generic(address), length, 0, queue.handle(), nullptr)) == "EBADF");
    BOOST_TEST(outcome(exs_getsockname(number, generic(address), &length)) == "EBADF");
    BOOST_TEST(outcome(exs_getpeername(number, generic(address), &length)) == "EBADF");
    BOOST_TEST(outcome(exs_shutdown(number, SHUT_WR)) == "EBADF");
    BOOST_TEST(outcome(exs_close(number)) == "EBADF");
    BOOST_TEST(outcome(exs_fcntl(number, EXS_F_GET_MAX_OPS, &value)) == "EBADF");
    BOOST_TEST(outcome(exs_send(number, &byte, 1, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED)) ==
               "EBADF");
    BOOST_TEST(outcome(exs_recv(number, &byte, 1, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED)) ==
               "EBADF");
  }
}

BOOST_AUTO_TEST_CASE(bind_checks_its_address) {
  sockaddr_in address = loopback();
  BOOST_TEST(outcome(exs_bind(socket, nullptr, sizeof address)) == "EFAULT");
  for (const socklen_t length : {0U, 1U, 8U, 15U, 129U, 1U << 31}) {
    BOOST_TEST(outcome(exs_bind(socket, generic(address), length)) == "EINVAL");
  }
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  BOOST_TEST(outcome(exs_bind(socket, reinterpret_cast<sockaddr*>(&six), sizeof six)) == "EAFNOSUPPORT");
  sockaddr_in elsewhere = loopback();
  elsewhere.sin_addr.s_addr = htonl(0xC0000201);  // 192.0.2.1, kept for documentation
  BOOST_TEST(bind(elsewhere) == "EADDRNOTAVAIL");
}

BOOST_AUTO_TEST_CASE(a_socket_is_bound_once) {
  BOOST_TEST(bind(loopback()) == "ok");
  BOOST_TEST(bind(loopback()) == "EINVAL");
}

BOOST_AUTO_TEST_CASE(an_address_in_use_is_told_by_bind_or_listen) {
  const ListeningSocket listening;
  const std::string bound = bind(listening.address());
  BOOST_TEST((bound == "EADDRINUSE" || outcome(exs_listen(socket, 1)) == "EADDRINUSE"));
}

BOOST_AUTO_TEST_CASE(a_server_can_bind_again_right_after_its_end) {
  sockaddr_in address{};
  {
    const ListeningSocket listening;
    address = listening.address();
    BOOST_TEST(accept(listening.number()) == "ok");
    BOOST_TEST(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr) == 0);
    BOOST_TEST(queue.next_outcome(socket, EXS_EVT_CONNECT) == "0");
    const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
    // The server closes first, which leaves its end in TIME_WAIT.
    BOOST_TEST(exs_close(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
  }
  const int next = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(bind(address, next) == "ok");
  BOOST_TEST(outcome(exs_listen(next, 1)) == "ok");
  BOOST_TEST(exs_close(next) == 0);
}

BOOST_AUTO_TEST_CASE(listen_takes_any_backlog_and_an_unbound_socket) {
  for (const int backlog : {-1, 0, 1, 1 << 30}) BOOST_TEST(outcome(exs_listen(socket, backlog)) == "ok");
  sockaddr_in address{};
  socklen_t length = sizeof address;
  BOOST_TEST(exs_getsockname(socket, generic(address), &length) == 0);
  BOOST_TEST(address.sin_port != 0);
}

BOOST_AUTO_TEST_CASE(a_connected_socket_neither_listens_nor_binds_nor_accepts) {
  const Pair pair(queue);
  for (const int number : {pair.left, pair.right}) {
    BOOST_TEST(outcome(exs_listen(number, 1)) == "EINVAL");
    BOOST_TEST(bind(loopback(), number) == "EINVAL");
    BOOST_TEST(accept(number) == "EINVAL");
  }
}

BOOST_AUTO_TEST_CASE(accept_needs_a_listening_socket_and_no_flags) {
  BOOST_TEST(accept(socket) == "EINVAL");
  const ListeningSocket listening;
  BOOST_TEST(accept(listening.number(), 1) == "EINVAL");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_AUTO_TEST_CASE(names_of_unconnected_sockets) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  BOOST_TEST(exs_getsockname(socket, generic(address), &length) == 0);
  BOOST_TEST(address.sin_port == 0);
  BOOST_TEST(outcome(exs_getpeername(socket, generic(address), &length)) == "ENOTCONN");
  for (const auto call : {exs_getsockname, exs_getpeername}) {
    BOOST_TEST(outcome(call(socket, nullptr, &length)) == "EFAULT");
    BOOST_TEST(outcome(call(socket, generic(address), nullptr)) == "EFAULT");
  }
}

BOOST_AUTO_TEST_CASE(names_of_connected_sockets_match_each_other) {
  const Pair pair(queue);
  sockaddr_in names[4] = {};
  socklen_t length = sizeof names[0];
  BOOST_TEST(exs_getsockname(pair.left, generic(names[0]), &length) == 0);
  BOOST_TEST(exs_getpeername(pair.right, generic(names[1]), &length) == 0);
  BOOST_TEST(exs_getsockname(pair.right, generic(names[2]), &length) == 0);
  BOOST_TEST(exs_getpeername(pair.left, generic(names[3]), &length) == 0);
  BOOST_TEST(names[0].sin_port == names[1].sin_port);
  BOOST_TEST(names[2].sin_port == names[3].sin_port);
  // A short buffer gets the beginning of the address, and `length` becomes the full length.
  char little[4] = {};
  length = sizeof little;
  BOOST_TEST(exs_getsockname(pair.left, reinterpret_cast<sockaddr*>(little), &length) == 0);
  BOOST_TEST(length == sizeof(sockaddr_in));
}

BOOST_AUTO_TEST_CASE(accept_fills_in_the_peers_address) {
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  sockaddr_storage peer{};
  exs_acceptaddr_t into{reinterpret_cast<sockaddr*>(&peer), sizeof peer};
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), &into, 0, queue.handle(), &into), 0);
  BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), &peer), 0);
  const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
  BOOST_TEST(accepted.exs_evt_ahandle == &into);
  BOOST_TEST(accepted.exs_evt_union.exs_evt_accept.exs_evt_addr == &into);
  BOOST_TEST(into.addrlen == sizeof(sockaddr_in));
  const exs_event_t connected = queue.next_of(socket, EXS_EVT_CONNECT);
  BOOST_TEST(connected.exs_evt_ahandle == &peer);
  sockaddr_in own{};
  socklen_t length = sizeof own;
  BOOST_TEST(exs_getsockname(socket, generic(own), &length) == 0);
  BOOST_TEST(std::memcmp(&own, &peer, sizeof own) == 0);
}

BOOST_AUTO_TEST_CASE(accept_cuts_an_address_that_has_no_room) {
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  char little[6] = {0, 0, 0, 0, 'x', 'y'};
  exs_acceptaddr_t cut{reinterpret_cast<sockaddr*>(little), 4};
  exs_acceptaddr_t nowhere{nullptr, 100};
  const int second = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), &cut, 0, queue.handle(), nullptr), 0);
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), &nowhere, 0, queue.handle(), nullptr), 0);
  for (const int number : {socket, second}) {
    BOOST_REQUIRE_EQUAL(exs_connect(number, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    BOOST_TEST(queue.next_outcome(listening.number(), EXS_EVT_ACCEPT) == "0");
  }
  BOOST_TEST(cut.addrlen == sizeof(sockaddr_in));
  BOOST_TEST(std::memcmp(little + 4, "xy", 2) == 0);
  BOOST_TEST(nowhere.addrlen == sizeof(sockaddr_in));
  BOOST_TEST(exs_close(second) == 0);
}

BOOST_AUTO_TEST_CASE(accepts_complete_in_post_order) {
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  int marks[5] = {};
  for (int& mark : marks)
    BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), &mark), 0);
  for (int& mark : marks) {
    const int number = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    BOOST_REQUIRE_EQUAL(exs_connect(number, generic(address), sizeof address, 0, queue.handle(), nullptr), 0);
    const exs_event_t accepted = queue.next_of(listening.number(), EXS_EVT_ACCEPT);
    BOOST_TEST(accepted.exs_evt_ahandle == &mark);
    BOOST_TEST(queue.next_outcome(number, EXS_EVT_CONNECT) == "0");
    BOOST_TEST(exs_close(number) == 0);
    BOOST_TEST(exs_close(accepted.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
