// Addresses as text and back, and which hosts they mean.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/socket_address.h"

#include <arpa/inet.h>

#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"

using namespace exs;

namespace socket_address_test {

sockaddr_storage address_named(const char* text) {
  const auto address = parse_address(text);
  BOOST_REQUIRE_MESSAGE(address, text << " is no address");
  return *address;
}
const sockaddr& plain(const sockaddr_storage& address) {
  return *as_sockaddr(address);
}

}  // namespace socket_address_test

BOOST_AUTO_TEST_SUITE(socket_address_test)

BOOST_AUTO_TEST_CASE(an_address_is_read_with_its_port_and_without) {
  const std::pair<const char*, const char*> kTexts[] = {{"10.0.0.2:9000", "10.0.0.2:9000"},
                                                        {"10.0.0.2", "10.0.0.2:0"},
                                                        {"[10.0.0.2]", "10.0.0.2:0"},
                                                        {"[10.0.0.2]:1", "10.0.0.2:1"},
                                                        {"[::1]:9000", "[::1]:9000"},
                                                        {"[::1]", "[::1]:0"},
                                                        {"::1", "[::1]:0"},
                                                        {"fe80::1:2", "[fe80::1:2]:0"},
                                                        {"0.0.0.0:65535", "0.0.0.0:65535"},
                                                        {"127.0.0.1:0", "127.0.0.1:0"}};
  for (const auto& [text, whole] : kTexts) BOOST_TEST(text_of(address_named(text)) == whole);
}

BOOST_AUTO_TEST_CASE(what_is_no_address_is_refused) {
  for (const char* wrong :
       {"", "host", "10.0.0", "10.0.0.2:", "10.0.0.2:x", "10.0.0.2:65536", "10.0.0.2:1x", "10.0.0.2:-1",
        "[::1", "[::1]9", "[::1]99", "[::1]:", "[]", "::1]", "[::1]:9:9", ":9", "10.0.0.2.3",
        "1111:2222:3333:4444:5555:6666:7777:8888:9999", "0000000000000000000000000000000000000000000000001"})
    BOOST_TEST(!parse_address(wrong), wrong);
}

BOOST_AUTO_TEST_CASE(the_length_of_an_address_is_that_of_its_family) {
  BOOST_TEST(address_bytes(address_named("10.0.0.2")) == sizeof(sockaddr_in));
  BOOST_TEST(address_bytes(address_named("::1")) == sizeof(sockaddr_in6));
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  BOOST_TEST(address_bytes(other) == 0U);
  BOOST_TEST(text_of(other).empty());
}

BOOST_AUTO_TEST_CASE(a_port_is_replaced_and_read_as_a_number) {
  for (const char* text : {"10.0.0.2:9000", "[::1]:9000"}) {
    const sockaddr_storage address = address_named(text);
    BOOST_TEST(port_number(address) == 9000);
    BOOST_TEST(port_of(address) == htons(9000));
    const sockaddr_storage other = with_port(address, 258);
    BOOST_TEST(port_number(other) == 258);
    BOOST_TEST(port_number(address) == 9000);
    BOOST_TEST(is_same_host(plain(address), plain(other)));
  }
}

BOOST_AUTO_TEST_CASE(copies_in_little_room_come_back_whole) {
  for (const char* text : {"10.0.0.2:9000", "[fe80::1]:9000"}) {
    const sockaddr_storage address = address_named(text);
    BOOST_TEST(text_of(whole(compact(address))) == text_of(address));
    BOOST_TEST(text_of(copy_of(plain(address))) == text_of(address));
  }
  BOOST_TEST(text_of(v4_address(in_addr{htonl(INADDR_LOOPBACK)}, 7)) == "127.0.0.1:7");
}

BOOST_AUTO_TEST_CASE(hosts_are_the_same_whatever_their_ports_are) {
  const auto same = [](const char* one, const char* other) {
    return is_same_host(plain(address_named(one)), plain(address_named(other)));
  };
  BOOST_TEST(same("10.0.0.2:1", "10.0.0.2:2"));
  BOOST_TEST(!same("10.0.0.2", "10.0.0.3"));
  BOOST_TEST(same("[fe80::1]:1", "[fe80::1]:2"));
  BOOST_TEST(!same("fe80::1", "fe80::2"));
  BOOST_TEST(!same("10.0.0.2", "::ffff:10.0.0.2"));
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  BOOST_TEST(!is_same_host(plain(other), plain(other)));
}

BOOST_AUTO_TEST_CASE(wildcards_and_loopback_are_known_by_family) {
  for (const char* text : {"0.0.0.0", "::"}) BOOST_TEST(is_any(plain(address_named(text))), text);
  for (const char* text : {"127.0.0.1", "::1", "10.0.0.2"})
    BOOST_TEST(!is_any(plain(address_named(text))), text);
  for (const char* text : {"127.0.0.1", "127.255.0.9", "::1"})
    BOOST_TEST(is_loopback(address_named(text)), text);
  for (const char* text : {"126.0.0.1", "128.0.0.1", "0.0.0.0", "::", "::2", "::ffff:127.0.0.1"})
    BOOST_TEST(!is_loopback(address_named(text)), text);
}

BOOST_AUTO_TEST_CASE(addresses_of_this_host_are_its_own) {
  for (const char* text :
       {"127.0.0.1", "127.0.0.1:80", "127.9.9.9", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1"})
    BOOST_TEST(is_own_address(plain(address_named(text))), text);
  // Documentation's, which nobody has.
  for (const char* text : {"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"})
    BOOST_TEST(!is_own_address(plain(address_named(text))), text);
  sockaddr_storage other{};
  other.ss_family = AF_UNIX;
  BOOST_TEST(!is_own_address(plain(other)));
}

BOOST_AUTO_TEST_CASE(the_peer_of_a_descriptor_is_named_or_unknown) {
  const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const UniqueFd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_storage address = address_named("127.0.0.1");
  socklen_t length = sizeof address;
  BOOST_REQUIRE(::bind(listener.get(), as_sockaddr(address), sizeof(sockaddr_in)) == 0);
  BOOST_REQUIRE(::listen(listener.get(), 1) == 0);
  BOOST_REQUIRE(::getsockname(listener.get(), as_sockaddr(address), &length) == 0);
  BOOST_TEST(name_of_peer(client.get()) == "unknown peer");
  BOOST_REQUIRE(::connect(client.get(), as_sockaddr(address), sizeof(sockaddr_in)) == 0);
  BOOST_TEST(name_of_peer(client.get()) == text_of(address));
  BOOST_TEST(name_of_peer(-1) == "unknown peer");
}

BOOST_AUTO_TEST_SUITE_END()
