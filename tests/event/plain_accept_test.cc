// Accepting on sockets whose blocking mode is the application's: never waits, with and without a ring.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>

#include <atomic>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "event/engine/plain_accept.h"
#include "tests/provider/iwarp/sockets.h"

using namespace exs;
using namespace exs::iwarp::test;
namespace data = boost::unit_test::data;

namespace plain_accept_test {

Socket connected_to(const ListeningSocket& listening) {
  Socket socket = tcp_socket();
  require(::connect(socket.get(), listening.as_sockaddr(), sizeof listening.address) == 0, "connect");
  return socket;
}

void set_blocking(const ListeningSocket& listening, bool blocking) {
  require(::fcntl(listening.socket.get(), F_SETFL, blocking ? 0 : O_NONBLOCK) == 0, "fcntl");
}

}  // namespace plain_accept_test

BOOST_AUTO_TEST_SUITE(plain_accept_test)

BOOST_DATA_TEST_CASE(takes_who_is_there, data::make({false, true}) * data::make({false, true}), ring,
                     blocking) {
  ListeningSocket listening;
  set_blocking(listening, blocking);
  PlainAccept accept(ring);
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(accept.accept(listening.socket.get()).error().error() == EAGAIN);
    const Socket peer = connected_to(listening);
    const auto accepted = accept.accept(listening.socket.get());
    BOOST_REQUIRE(accepted.has_value());
    const Socket owned(*accepted);
    BOOST_TEST(::fcntl(owned.get(), F_GETFD) == FD_CLOEXEC);
    BOOST_TEST((::fcntl(owned.get(), F_GETFL) & O_NONBLOCK) == 0);
  }
  BOOST_TEST((::fcntl(listening.socket.get(), F_GETFL) & O_NONBLOCK) == (blocking ? 0 : O_NONBLOCK));
}

// Somebody else takes the connection between our look and our accept, again and again.
BOOST_AUTO_TEST_CASE(does_not_wait_for_what_others_took) {
  constexpr int kConnections = 2000;
  ListeningSocket listening;
  PlainAccept accept(true);
  std::atomic<bool> stop{false};
  std::atomic<int> theirs{0};
  std::thread rival([&] {
    while (!stop) {
      pollfd asked{listening.socket.get(), POLLIN, 0};
      if (::poll(&asked, 1, 10) != 1) continue;
      const Socket taken(::accept4(listening.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      ++theirs;
    }
  });
  int ours = 0;
  for (int i = 0; i < kConnections; ++i) {
    const Socket peer = connected_to(listening);
    while (ours + theirs <= i) {
      if (const auto accepted = accept.accept(listening.socket.get())) {
        const Socket owned(*accepted);
        ++ours;
      }
    }
  }
  stop = true;
  const Socket last = connected_to(listening);  // the rival may wait in accept4
  rival.join();
  BOOST_TEST_MESSAGE(ours << " of " << kConnections << " accepted here");
  BOOST_TEST(ours + theirs >= kConnections);
}

BOOST_AUTO_TEST_CASE(errors_of_accept) {
  const Socket not_listening = tcp_socket();
  PlainAccept accept(true);
  BOOST_TEST(accept.accept(not_listening.get()).error().error() == EINVAL);
  BOOST_TEST(accept.accept(-1).error().error() == EBADF);
}

BOOST_AUTO_TEST_SUITE_END()
