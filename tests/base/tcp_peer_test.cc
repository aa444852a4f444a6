// What the kernel knows of the other end of a connection.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/tcp_peer.h"

#include <sys/socket.h>

#include <boost/test/unit_test.hpp>

#include "base/socket_address.h"
#include "base/unique_fd.h"

using namespace exs;

BOOST_AUTO_TEST_SUITE(tcp_peer_test)

BOOST_AUTO_TEST_CASE(a_connection_waits_in_the_queue_until_it_is_accepted) {
  for (const char* host : {"127.0.0.1", "::1"}) {
    sockaddr_storage address = *parse_address(host);
    const UniqueFd listener(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const UniqueFd client(::socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    socklen_t length = address_bytes(address);
    if (::bind(listener.get(), as_sockaddr(address), length) != 0) continue;  // a host without IPv6
    BOOST_REQUIRE(::listen(listener.get(), 1) == 0);
    BOOST_REQUIRE(::getsockname(listener.get(), as_sockaddr(address), &length) == 0);
    BOOST_TEST(!peer_has_accepted(client.get()).has_value());
    BOOST_REQUIRE(::connect(client.get(), as_sockaddr(address), length) == 0);
    BOOST_TEST((peer_has_accepted(client.get()) == false));
    const UniqueFd accepted(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    BOOST_REQUIRE(accepted.valid());
    BOOST_TEST((peer_has_accepted(client.get()) == true));
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_known_of_what_is_no_connection) {
  BOOST_TEST(!peer_has_accepted(-1).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
