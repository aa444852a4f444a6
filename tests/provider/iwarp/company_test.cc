// Messages that nobody waits for: they leave with others, at the next flush, or before a sleep.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/ioctl.h>
#include <array>
#include <boost/test/unit_test.hpp>

#include "tests/provider/iwarp/link_pair.h"

using namespace exs;
using namespace exs::iwarp::test;

namespace company_test {

struct Guests final : Company {
  bool is_expected() override { return expected; }
  bool expected = true;
};

struct CompanyPair : LinkPair {
  CompanyPair() {
    client_port->expect_company(guests);
    join();
    for (std::size_t i = 0; i < rooms.size(); ++i)
      require(server->post_recv(slice_of(rooms[i]), i).ok(), "post_recv");
  }
  void post_at_leisure(std::string_view text) {
    require(client->post_send_at_leisure(bytes_of(text), 7).ok(), "post_send_at_leisure");
  }
  // As every step of a shard ends.
  void end_step() {
    std::array<Completion, 4> out;
    (void)client_port->flush_and_poll(out);
  }
  // What has left is in the server's socket at once.
  bool has_left() {
    int bytes = 0;
    require(::ioctl(server_socket.get(), FIONREAD, &bytes) == 0, "FIONREAD");
    return bytes > 0;
  }
  void check_arrival(std::string_view text) {
    const Completion done = server_gets(CompletionKind::kReceive);
    BOOST_TEST(done.status.ok());
    BOOST_TEST(std::string_view(reinterpret_cast<const char*>(rooms[done.token].data()), done.length_bytes) ==
               text);
  }
  Guests guests;
  std::array<std::array<std::byte, 64>, 4> rooms{};
};

}  // namespace company_test

BOOST_AUTO_TEST_SUITE(company_test)

BOOST_AUTO_TEST_CASE(it_leaves_with_the_next_flush_at_the_latest) {
  CompanyPair pair;
  pair.post_at_leisure("alone");
  pair.end_step();
  BOOST_TEST(!pair.has_left());
  pair.client_port->flush();
  BOOST_TEST(pair.has_left());
  pair.check_arrival("alone");
}

BOOST_AUTO_TEST_CASE(it_leaves_with_what_is_posted_behind_it_and_before_that) {
  CompanyPair pair;
  pair.post_at_leisure("first");
  BOOST_REQUIRE(pair.client->post_send(bytes_of("second"), {}, 8).ok());
  pair.end_step();
  BOOST_TEST(pair.has_left());
  pair.check_arrival("first");
  pair.check_arrival("second");
  pair.client_port->flush();
  BOOST_TEST(!pair.has_left());
}

BOOST_AUTO_TEST_CASE(it_does_not_wait_where_no_company_is_expected) {
  CompanyPair pair;
  pair.guests.expected = false;
  pair.post_at_leisure("alone");
  pair.end_step();
  BOOST_TEST(pair.has_left());
  pair.check_arrival("alone");
}

BOOST_AUTO_TEST_CASE(it_leaves_before_a_sleep) {
  CompanyPair pair;
  pair.post_at_leisure("alone");
  BOOST_TEST(!pair.client_port->arm());
  BOOST_TEST(pair.has_left());
  pair.end_step();
  BOOST_TEST(pair.client_port->arm());
  pair.check_arrival("alone");
}

BOOST_AUTO_TEST_CASE(a_link_that_ends_first_takes_it_along) {
  CompanyPair pair;
  pair.post_at_leisure("never");
  pair.client->close();
  pair.client_port->flush();
  pair.client.reset();
  pair.client_port->flush();
  BOOST_TEST(pair.client_port->arm());
}

BOOST_AUTO_TEST_SUITE_END()
