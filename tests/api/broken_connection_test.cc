// A broken connection is reported as ECONNRESET, also when the kernel reports another errno.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/socket.h>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace broken_connection_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory memory{4096};
  Pair pair{queue};

  void receive(int socket) {
    BOOST_REQUIRE_EQUAL(exs_recv(socket, memory.at(), 64, 0, queue.handle(), nullptr, memory.handle()), 0);
  }
  std::string end_of_receive(int socket) {
    return errno_name(queue.next_of(socket, EXS_EVT_RECV).exs_evt_errno);
  }
};

}  // namespace broken_connection_test

BOOST_FIXTURE_TEST_SUITE(broken_connection_test, Fixture)

BOOST_AUTO_TEST_CASE(the_kernel_takes_the_connection_away) {
  receive(pair.left);
  receive(pair.right);
  sockaddr nobody{};
  nobody.sa_family = AF_UNSPEC;
  BOOST_REQUIRE_EQUAL(::connect(pair.left, &nobody, sizeof nobody), 0);
  // A send before the library notices consumes the kernel's error; later calls find a socket without a peer.
  const bool posted = exs_send(pair.left, memory.at(), 64, 0, queue.handle(), nullptr, memory.handle()) == 0;
  if (posted) {
    const std::string end = errno_name(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno);
    BOOST_TEST((end == "ECONNRESET" || end == "0"), end);
  }
  BOOST_TEST(end_of_receive(pair.left) == "ECONNRESET");
  BOOST_TEST(end_of_receive(pair.right) == "ECONNRESET");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
