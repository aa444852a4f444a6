// The library's own sockets are known for that from the moment they exist.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/socket.h>

#include <atomic>
#include <boost/test/unit_test.hpp>
#include <optional>

#include "base/socket_cookie.h"
#include "base/unique_fd.h"
#include "src/provider/own_sockets.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace own_sockets_test {

int new_socket() {
  return ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

}  // namespace own_sockets_test

BOOST_AUTO_TEST_SUITE(own_sockets_test)

BOOST_AUTO_TEST_CASE(a_socket_by_its_cookie) {
  const auto opened = OwnSockets::open(new_socket);
  BOOST_REQUIRE(opened.has_value());
  UniqueFd ours(*opened);
  const std::uint64_t cookie = socket_cookie(*opened).value();
  BOOST_TEST(OwnSockets::has(*opened, cookie));
  ours.reset();
  const UniqueFd next(new_socket());  // gets the number
  BOOST_REQUIRE_EQUAL(next.get(), *opened);
  BOOST_TEST(!OwnSockets::has(next.get(), socket_cookie(next.get()).value()));
  BOOST_TEST(OwnSockets::has(next.get(), cookie));  // the question is about the socket that was
  OwnSockets::add(next.get());
  BOOST_TEST(OwnSockets::has(next.get(), socket_cookie(next.get()).value()));
}

BOOST_AUTO_TEST_CASE(numbers_that_none_has) {
  for (const int number : {-1, OwnSockets::kNumbersMax}) {
    OwnSockets::add(number, 0);
    BOOST_TEST(!OwnSockets::has(number, 0));
  }
  BOOST_TEST(!socket_cookie(-1).has_value());
  const auto refused = OwnSockets::open([] { return ::socket(-1, SOCK_STREAM, 0); });
  BOOST_TEST(refused.error().error() == EAFNOSUPPORT);
}

// Another thread comes upon the number while the call that makes it has not returned.
BOOST_AUTO_TEST_CASE(a_socket_that_is_being_opened) {
  std::optional<WaitingThread> asking;
  std::atomic<bool> is_ours{false};
  const auto opened = OwnSockets::open([&] {
    const int number = new_socket();
    asking.emplace([&is_ours, number] { is_ours = OwnSockets::has(number, socket_cookie(number).value()); });
    asking->await_lock();
    return number;
  });
  const UniqueFd ours(opened.value());
  asking->join();
  BOOST_TEST(is_ours);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
