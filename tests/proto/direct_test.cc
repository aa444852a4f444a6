// Messages that leave as they are posted and are taken where they arrive.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/connection_pair.h"
#include "tests/proto/forged.h"

namespace exs::proto {
namespace direct_test {

class Taker final : public MessageTaker {
 public:
  explicit Taker(Connection& connection) : connection_(connection) {}
  bool take(const ArrivingMessage& message) override { return connection_.take(message); }

 private:
  Connection& connection_;
};

struct DirectPair : ConnectionPair {
  explicit DirectPair(std::uint32_t credits = 4) : ConnectionPair(agreement_of(credits, 48, 4)) {
    initiator.link.let_send_now();
    responder.link.show_messages_to(taker);
    BOOST_REQUIRE(start());
    run();
  }
  ~DirectPair() { BOOST_TEST(violations.empty()); }
  DirectPair(const DirectPair&) = delete;
  DirectPair& operator=(const DirectPair&) = delete;

  void inject_immediate(std::uint32_t sequence, std::uint16_t credits) {
    wire::Message message = immediate(sequence);
    message.header.credits = credits;
    responder.link.inject(bytes_of(message, 8));
  }

  Taker taker{responder.connection};
};

}  // namespace direct_test

BOOST_AUTO_TEST_SUITE(direct_test)

BOOST_AUTO_TEST_CASE(a_message_leaves_and_arrives_without_completions) {
  DirectPair pair;
  Bytes source = test::pattern(30, 1);
  Bytes sink(40);
  pair.responder.receive(sink);
  const std::size_t slots = pair.responder.link.receives_posted();
  pair.initiator.send(source);
  BOOST_REQUIRE(pair.initiator.sends.size() == 1U);
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 30U);
  BOOST_TEST(pair.initiator.sends[0].outcome.flags == kImmediate);
  BOOST_TEST(!pair.initiator.link.finish_send());
  BOOST_TEST(!pair.initiator.handle_one());

  BOOST_REQUIRE(pair.responder.link.deliver_message());
  BOOST_REQUIRE(pair.responder.receives.size() == 1U);
  const Outcome& outcome = pair.responder.receives[0].outcome;
  BOOST_TEST(outcome.length_bytes == 30U);
  BOOST_TEST(outcome.flags == (kImmediate | kEndOfMessage | kCopied));
  BOOST_TEST(std::equal(source.begin(), source.end(), sink.begin()));
  BOOST_TEST(!pair.responder.handle_one());
  BOOST_TEST(pair.responder.link.receives_posted() == slots);
}

BOOST_AUTO_TEST_CASE(what_is_longer_than_its_receive_is_cut_and_told) {
  DirectPair pair;
  Bytes source = test::pattern(30, 1);
  Bytes sink(10);
  pair.responder.receive(sink);
  pair.initiator.send(source);
  pair.run();
  BOOST_REQUIRE(pair.responder.receives.size() == 1U);
  const Outcome& outcome = pair.responder.receives[0].outcome;
  BOOST_TEST(outcome.length_bytes == 10U);
  BOOST_TEST((outcome.flags & kTruncated) != 0U);
  BOOST_TEST(outcome.whole_bytes == 30U);
}

BOOST_AUTO_TEST_CASE(a_message_without_a_receive_waits_for_it) {
  DirectPair pair;
  Bytes first = test::pattern(20, 1);
  Bytes second = test::pattern(20, 2);
  pair.initiator.send(first);
  pair.initiator.send(second);
  pair.run();
  Bytes sinks[2] = {Bytes(20), Bytes(20)};
  for (Bytes& sink : sinks) pair.responder.receive(sink);
  pair.run();
  BOOST_TEST(pair.responder.receives.size() == 2U);
  BOOST_TEST(sinks[0] == first);
  BOOST_TEST(sinks[1] == second);
}

// Those that arrive behind one that waits among the completions come after it.
BOOST_AUTO_TEST_CASE(order_holds_between_both_ways) {
  DirectPair pair;
  Bytes sources[3] = {test::pattern(20, 1), test::pattern(20, 2), test::pattern(20, 3)};
  Bytes sinks[3] = {Bytes(20), Bytes(20), Bytes(20)};
  pair.initiator.send(sources[0]);
  BOOST_REQUIRE(pair.responder.link.deliver_message());  // becomes a completion
  for (Bytes& sink : sinks) pair.responder.receive(sink);
  pair.initiator.send(sources[1]);
  BOOST_REQUIRE(pair.responder.link.deliver_message());
  BOOST_TEST(pair.responder.receives.empty());
  while (pair.responder.handle_one()) continue;
  pair.initiator.send(sources[2]);
  BOOST_REQUIRE(pair.responder.link.deliver_message());
  BOOST_TEST(pair.responder.receives.size() == 3U);
  for (int i = 0; i < 3; ++i) BOOST_TEST(sinks[i] == sources[i]);
}

BOOST_AUTO_TEST_CASE(credits_come_back) {
  constexpr int kMessages = 50;
  DirectPair pair(2);
  Bytes source = test::pattern(20, 1);
  std::vector<Bytes> sinks(kMessages, Bytes(20));
  for (Bytes& sink : sinks) pair.responder.receive(sink);
  for (int i = 0; i < kMessages; ++i) pair.initiator.send(source);
  pair.run();
  BOOST_TEST(pair.initiator.sends.size() == static_cast<std::size_t>(kMessages));
  BOOST_TEST(pair.responder.receives.size() == static_cast<std::size_t>(kMessages));
  BOOST_TEST(pair.initiator.connection.credits().available() + pair.responder.connection.credits().owed() ==
             2U);
}

BOOST_AUTO_TEST_CASE(what_breaks_the_protocol_is_left_to_the_long_way) {
  for (const auto& [sequence, credits] : {std::pair{7U, 0U}, std::pair{1U, 5U}}) {
    DirectPair pair;
    Bytes sink(40);
    pair.responder.receive(sink);
    pair.inject_immediate(sequence, static_cast<std::uint16_t>(credits));
    BOOST_REQUIRE(pair.responder.link.deliver_message());
    BOOST_TEST(pair.responder.receives.empty());
    while (pair.responder.handle_one()) continue;
    BOOST_REQUIRE(pair.responder.failures.size() == 1U);
    BOOST_TEST(pair.responder.failures[0] == EPROTO);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::proto
