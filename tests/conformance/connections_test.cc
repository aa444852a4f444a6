// How a connect ends, by event and in the blocking form.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <thread>

#include "tests/support/exs_fixture.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace connections_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;

  // Connects a new socket by event or in the blocking form, and returns the errno.
  int ending(sockaddr_in address, bool blocking, int type = SOCK_SEQPACKET, int timeout_ms = 10'000) {
    const int socket = exs_socket(AF_INET, type, 0);
    BOOST_REQUIRE_EQUAL(
        exs_setsockopt(socket, SOL_EXS, EXS_SO_CONNECT_TIMEOUT_MS, &timeout_ms, sizeof timeout_ms), 0);
    int error = 0;
    if (blocking) {
      BOOST_TEST(exs_connect_sync(socket, generic(address), sizeof address) == -1);
      error = errno;
    } else {
      BOOST_REQUIRE_EQUAL(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr),
                          0);
      error = queue.next_of(socket, EXS_EVT_CONNECT).exs_evt_errno;
    }
    BOOST_TEST(exs_close(socket) == 0);
    return error;
  }
};

}  // namespace connections_test

BOOST_FIXTURE_TEST_SUITE(connections_test, Fixture)

// shows: exs_connect event ECONNREFUSED
BOOST_DATA_TEST_CASE(nobody_listens, data::make({false, true}), blocking) {
  sockaddr_in address{};
  {
    const ListeningSocket gone;
    address = gone.address();
  }
  BOOST_TEST(errno_name(ending(address, blocking)) == "ECONNREFUSED");
}

// shows: exs_connect event ETIMEDOUT
BOOST_DATA_TEST_CASE(nobody_accepts, data::make({false, true}), blocking) {
  const ListeningSocket listening;
  BOOST_TEST(errno_name(ending(listening.address(), blocking, SOCK_SEQPACKET, 20)) == "ETIMEDOUT");
}

// shows: exs_connect event EPROTOTYPE
BOOST_DATA_TEST_CASE(the_other_kind_of_socket_listens, data::make({false, true}), blocking) {
  const ListeningSocket listening;
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  BOOST_TEST(errno_name(ending(listening.address(), blocking, SOCK_STREAM)) == "EPROTOTYPE");
}

BOOST_DATA_TEST_CASE(the_blocking_forms_meet, data::make({SOCK_SEQPACKET, SOCK_STREAM}), type) {
  const int listening = exs_socket(AF_INET, type, 0);
  sockaddr_in address = loopback();
  socklen_t length = sizeof address;
  BOOST_REQUIRE_EQUAL(exs_bind(listening, generic(address), length), 0);
  BOOST_REQUIRE_EQUAL(exs_listen(listening, 1), 0);
  BOOST_REQUIRE_EQUAL(exs_getsockname(listening, generic(address), &length), 0);
  const int connecting = exs_socket(AF_INET, type, 0);
  int connected = -1;
  std::thread client([&] { connected = exs_connect_sync(connecting, generic(address), sizeof address); });
  sockaddr_in peer{};
  socklen_t peer_bytes = sizeof peer;
  const int accepted = exs_accept_sync(listening, generic(peer), &peer_bytes);
  client.join();
  BOOST_TEST(connected == 0);
  BOOST_REQUIRE_GE(accepted, 0);
  sockaddr_in ours{};
  socklen_t ours_bytes = sizeof ours;
  BOOST_REQUIRE_EQUAL(exs_getsockname(connecting, generic(ours), &ours_bytes), 0);
  BOOST_TEST(peer_bytes == ours_bytes);
  BOOST_TEST(peer.sin_port == ours.sin_port);
  for (const int socket : {connecting, accepted, listening}) BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
