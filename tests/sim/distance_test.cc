// Over a distance the credits follow what is on the way, in virtual time: 10 ms each way, and a sender that always has something to send.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>

#include "src/provider/registry.h"
#include "src/provider/sim/sim.h"
#include "tests/support/environment_setting.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace distance_test {

constexpr int kMessages = 2000;
constexpr int kOpen = 256;  // at a time
constexpr std::uint64_t kMs = 1'000'000;

struct Flow {
  void (*prepare)(int socket);
  std::size_t bytes;
  int flags;
};

// Virtual milliseconds that the messages take.
std::uint64_t time_of(const Flow& flow) {
  const EnvironmentSetting provider("EXS_PROVIDER", "sim:seed=1,delay=10ms");
  const InitializedLibrary library;
  Queue queue(4 * kOpen);
  Memory memory(1 << 16);
  const Pair pair(queue, flow.prepare);
  const std::uint64_t began_ns = simulation()->report().passed_ns;
  int posted = 0, sent = 0, received = 0;
  while (received < kMessages) {
    for (; posted < kMessages && posted - std::min(sent, received) < kOpen; ++posted) {
      BOOST_REQUIRE_EQUAL(
          exs_recv(pair.right, memory.at(), flow.bytes, 0, queue.handle(), nullptr, memory.handle()), 0);
      BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(1 << 15), flow.bytes, flow.flags, queue.handle(),
                                   nullptr, memory.handle()),
                          0);
    }
    exs_event_t events[64];
    const int count = exs_qwait(queue.handle(), events, 64, 1, -1);
    BOOST_REQUIRE(count > 0);
    for (int i = 0; i < count; ++i) {
      BOOST_REQUIRE_EQUAL(events[i].exs_evt_errno, 0);
      ++(events[i].exs_evt_type == EXS_EVT_SEND ? sent : received);
    }
  }
  return (simulation()->report().passed_ns - began_ns) / kMs;
}

void nothing(int /*socket*/) {}
void fix(int socket) {
  BOOST_REQUIRE_EQUAL(exs_fcntl(socket, EXS_F_SET_RECV_CREDITS, 32), 0);
}

}  // namespace distance_test

using namespace distance_test;

BOOST_AUTO_TEST_SUITE(distance_test)

// With 32 credits each round trip of 20 ms brings 32 messages. Normal sends take more than one: reads of this network are served at once.
BOOST_AUTO_TEST_CASE(credits_that_the_receiver_has_fixed_bound_what_is_on_the_way) {
  BOOST_TEST(time_of({fix, 64, 0}) >= 20U * (kMessages / 32 - 1));
  BOOST_TEST(time_of({fix, 64, EXS_NO_IMMEDIATE}) >= 30U * (kMessages / 32 - 1));
}

BOOST_AUTO_TEST_CASE(other_credits_grow_until_no_send_waits_for_them) {
  BOOST_TEST(time_of({nothing, 64, 0}) <= 20U * (kMessages / kOpen + 8));
  BOOST_TEST(time_of({nothing, 64, EXS_NO_IMMEDIATE}) <= 30U * (kMessages / kOpen + 8));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
