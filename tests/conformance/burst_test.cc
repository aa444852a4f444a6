// Messages that are posted in a row may leave together, and leave whatever their poster does then.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cstring>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace burst_test {

constexpr int kMessages = 200;
constexpr std::size_t kBytes = 64;

// Two queues, so that nobody waits for that of the sender.
struct Fixture {
  InitializedLibrary library;
  Queue of_sender{1024};
  Queue of_receiver{1024};
  Memory source{kMessages * kBytes};
  Memory sink{kMessages * kBytes};
  Pair pair{of_sender, of_receiver};

  void receive_all() {
    for (int i = 0; i < kMessages; ++i) {
      BOOST_REQUIRE_EQUAL(
          exs_recv(pair.right, sink.at(place(i)), kBytes, 0, of_receiver.handle(), nullptr, sink.handle()),
          0);
    }
  }
  void send(int from, int to, int flags = 0) {
    for (int i = from; i < to; ++i) {
      BOOST_REQUIRE_EQUAL(exs_send(pair.left, source.at(place(i)), kBytes, flags, of_sender.handle(), nullptr,
                                   source.handle()),
                          0);
    }
  }
  void await(int messages) {
    for (int i = 0; i < messages; ++i)
      BOOST_TEST(of_receiver.next_of(pair.right, EXS_EVT_RECV).exs_evt_errno == 0);
  }
  static std::size_t place(int message) { return static_cast<std::size_t>(message) * kBytes; }
};

}  // namespace burst_test

BOOST_FIXTURE_TEST_SUITE(burst_test, Fixture)

BOOST_AUTO_TEST_CASE(a_burst_leaves_although_its_poster_does_nothing_more) {
  source.fill(1);
  receive_all();
  for (int sent = 0; sent < kMessages; sent += 10) {
    send(sent, sent + 10);
    await(10);
  }
  BOOST_TEST(std::memcmp(source.at(), sink.at(), kMessages * kBytes) == 0);
}

BOOST_AUTO_TEST_CASE(normal_messages_leave_likewise) {
  receive_all();
  send(0, 10, EXS_NO_IMMEDIATE);
  await(10);
}

BOOST_AUTO_TEST_CASE(more_than_are_held_back_leave_at_once) {
  receive_all();
  send(0, kMessages);
  await(kMessages);
}

BOOST_AUTO_TEST_CASE(flush_and_nodelay_let_them_go) {
  receive_all();
  send(0, 10);
  BOOST_TEST(exs_flush(pair.left) == 0);
  await(10);
  set_option(pair.left, EXS_SO_NODELAY, 1);
  send(10, 20);
  await(10);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
