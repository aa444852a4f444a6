// The counters that exs_getstats reports: what one end says it has sent is what the other has received.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/connection_pair.h"

namespace exs::proto {
namespace counters_test {

struct CountedPair : ConnectionPair {
  explicit CountedPair(std::uint32_t credits = 8) : ConnectionPair(agreement_of(credits, 48, 2)) {
    BOOST_REQUIRE(start());
    run();
  }
  ~CountedPair() { BOOST_TEST(violations.empty()); }
  CountedPair(const CountedPair&) = delete;
  CountedPair& operator=(const CountedPair&) = delete;

  // Sends them one after the other, each to a receive that is there.
  void transfer(std::size_t bytes, int times) {
    Bytes source = test::pattern(bytes, 1);
    Bytes sink(bytes);
    for (int i = 0; i < times; ++i) {
      responder.receive(sink);
      initiator.send(source);
      run();
    }
  }
  [[nodiscard]] const Counters& senders() { return initiator.counters; }
  [[nodiscard]] const Counters& receivers() { return responder.counters; }
};

}  // namespace counters_test

BOOST_AUTO_TEST_SUITE(counters_test)

BOOST_AUTO_TEST_CASE(immediates_are_counted_with_their_bytes_at_both_ends) {
  CountedPair pair;
  pair.transfer(40, 3);
  BOOST_TEST(pair.senders().immediates_sent == 3U);
  BOOST_TEST(pair.senders().immediate_bytes == 120U);
  BOOST_TEST(pair.senders().bytes_sent == 120U);
  BOOST_TEST(pair.senders().adverts_sent == 0U);
  BOOST_TEST(pair.receivers().bytes_received == 120U);
  BOOST_TEST(pair.receivers().copied_bytes == 120U);
  BOOST_TEST(pair.receivers().direct_bytes == 0U);
  BOOST_TEST(pair.receivers().adverts_received == 0U);
  BOOST_TEST(pair.receivers().reads_posted == 0U);
}

BOOST_AUTO_TEST_CASE(adverts_and_their_answers_are_counted_at_both_ends) {
  CountedPair pair;
  pair.transfer(60, 2);  // one chunk
  pair.transfer(130, 1);
  BOOST_TEST(pair.senders().adverts_sent == 3U);
  BOOST_TEST(pair.receivers().adverts_received == 3U);
  BOOST_TEST(pair.receivers().acks_sent == 3U);
  BOOST_TEST(pair.senders().acks_received == 3U);
  BOOST_TEST(pair.senders().bytes_sent == 250U);
  BOOST_TEST(pair.receivers().bytes_received == 250U);
  BOOST_TEST(pair.receivers().direct_bytes == 250U);
  BOOST_TEST(pair.receivers().copied_bytes == 0U);
  BOOST_TEST(pair.receivers().reads_posted == 2U + 3U);  // chunks of 64 bytes
  BOOST_TEST(pair.senders().immediates_sent == 0U);
  BOOST_TEST(pair.receivers().adverts_sent == 0U);
  BOOST_TEST(pair.senders().adverts_received == 0U);
}

BOOST_AUTO_TEST_CASE(a_send_that_waits_for_a_credit_is_counted_once) {
  CountedPair pair(2);
  Bytes source = test::pattern(40, 1);
  for (int i = 0; i < 3; ++i) pair.initiator.send(source);
  pair.run();
  BOOST_TEST(pair.senders().credit_stalls == 1U);
  BOOST_TEST(pair.senders().immediates_sent == 2U);
  Bytes sink(40);
  for (int i = 0; i < 3; ++i) pair.responder.receive(sink);
  pair.run();
  BOOST_TEST(pair.senders().immediates_sent == 3U);
  BOOST_TEST(pair.senders().credit_stalls == 1U);
  BOOST_TEST(pair.receivers().credit_messages_sent >= 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::proto
