// Messages of a peer that sends and closes at once can be received after its end.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <cstring>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace late_receive_test {

struct Fixture {
  InitializedLibrary library;
  Queue queue;
  Memory source{4096};
  Memory sink{4096};
  Pair pair{queue};

  Fixture() {
    exs_event_t event{};
    while (exs_qwait(queue.handle(), &event, 1, 0, 0) == 1) continue;
  }
  void send(std::size_t offset_bytes, std::size_t length_bytes) {
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, source.at(offset_bytes), length_bytes, 0, queue.handle(), nullptr,
                                 source.handle()),
                        0);
  }
  // Returns when this end's kernel has the end of the connection and the library has polled it.
  void see_the_peer_go() {
    pollfd watched{pair.right, POLLRDHUP, 0};
    BOOST_REQUIRE_EQUAL(::poll(&watched, 1, kHangLimitSeconds * 1000), 1);
    exs_event_t none{};
    for (int look = 0; look < 20; ++look) BOOST_REQUIRE_EQUAL(exs_qwait(queue.handle(), &none, 1, 0, 0), 0);
  }
  exs_event_t receive() {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, sink.at(), 1024, 0, queue.handle(), nullptr, sink.handle()), 0);
    return queue.next_of(pair.right, EXS_EVT_RECV);
  }
};

}  // namespace late_receive_test

BOOST_FIXTURE_TEST_SUITE(late_receive_test, Fixture)

BOOST_AUTO_TEST_CASE(immediate_messages_outlive_the_close_of_their_sender) {
  source.fill(3);
  send(0, 100);
  send(100, 200);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno == 0);
  BOOST_TEST(queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno == 0);
  // Expect: the peer's library sees the close, while its application has posted no receive.
  BOOST_REQUIRE_EQUAL(exs_close(pair.left), 0);
  see_the_peer_go();
  for (const std::size_t offset : {0UL, 100UL}) {
    const exs_event_t event = receive();
    BOOST_TEST(event.exs_evt_errno == 0);
    BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_length == (offset == 0 ? 100U : 200U));
    BOOST_TEST(std::memcmp(sink.at(), source.at(offset), offset == 0 ? 100 : 200) == 0);
  }
  // Expect: then every receive reports the end.
  for (int i = 0; i < 2; ++i) {
    const exs_event_t end = receive();
    BOOST_TEST(end.exs_evt_errno == 0);
    BOOST_TEST((end.exs_evt_flags & EXS_EVF_EOF) != 0);
  }
  BOOST_TEST(exs_send(pair.right, source.at(), 1, 0, queue.handle(), nullptr, source.handle()) == -1);
  BOOST_TEST(errno_name(errno) == "EPIPE");
  BOOST_TEST(exs_close(pair.right) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
