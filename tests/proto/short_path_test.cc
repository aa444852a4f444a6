// Short messages: what the steady case does, and what takes it away.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/connection_pair.h"
#include "tests/proto/forged.h"

namespace exs::proto {
namespace short_path_test {

constexpr std::uint32_t kCredits = 4;
constexpr std::size_t kSmallBytes = 48;

class Taker final : public MessageTaker {
 public:
  explicit Taker(Connection& connection) : connection_(connection) {}
  bool take(const ArrivingMessage& message) override {
    return connection_.take_short(message, [this](const Operation& receive, std::uint64_t payload_bytes) {
      outcomes.push_back(received_immediate(receive, payload_bytes));
    });
  }
  std::vector<Outcome> outcomes;

 private:
  Connection& connection_;
};

struct ShortPair : ConnectionPair {
  ShortPair() : ConnectionPair(agreement_of(kCredits, kSmallBytes, 4)) {
    initiator.link.let_send_now();
    responder.link.let_send_now();
    responder.link.show_messages_to(taker);
    BOOST_REQUIRE(start());
    run();
  }
  ~ShortPair() { BOOST_TEST(violations.empty()); }
  ShortPair(const ShortPair&) = delete;
  ShortPair& operator=(const ShortPair&) = delete;

  ShortSend send(Bytes& bytes) { return initiator.connection.send_short({bytes.data(), bytes.size(), {}}); }
  bool receive(Bytes& into) {
    Fifo<Operation>* const receives = responder.connection.short_receives();
    if (receives == nullptr) return false;
    Operation& posted = receives->append();
    posted = {};
    posted.memory = {into.data(), into.size(), {}};
    posted.is_short = true;
    return true;
  }
  // The queue of receives grows with those that take the whole way.
  void make_room(Bytes& into, int receives) {
    Bytes nothing;
    for (int i = 0; i < receives; ++i) responder.receive(into);
    for (int i = 0; i < receives; ++i) initiator.send(nothing);
    run();
    BOOST_REQUIRE(responder.receives.size() == static_cast<std::size_t>(receives));
  }

  Taker taker{responder.connection};
};

}  // namespace short_path_test

BOOST_AUTO_TEST_SUITE(short_path_test)

BOOST_AUTO_TEST_CASE(a_short_message_goes_into_a_short_receive) {
  ShortPair pair;
  Bytes source = test::pattern(30, 1), sink(40), cut(10);
  pair.make_room(sink, 2);
  const Counters before = pair.responder.counters;
  BOOST_REQUIRE(pair.receive(sink));
  BOOST_REQUIRE(pair.receive(cut));
  for (int i = 0; i < 2; ++i) BOOST_TEST((pair.send(source) == ShortSend::kSent));
  while (pair.responder.link.deliver_message()) continue;
  BOOST_REQUIRE(pair.taker.outcomes.size() == 2U);
  BOOST_TEST(pair.taker.outcomes[0].length_bytes == 30U);
  BOOST_TEST(std::equal(source.begin(), source.end(), sink.begin()));
  BOOST_TEST(pair.taker.outcomes[1].flags == (kImmediate | kEndOfMessage | kCopied | kTruncated));
  BOOST_TEST(pair.taker.outcomes[1].whole_bytes == 30U);
  const Counters& after = pair.responder.counters;
  BOOST_TEST(after.bytes_received - before.bytes_received == 40U);
}

BOOST_AUTO_TEST_CASE(without_a_credit_nothing_leaves_until_one_comes) {
  ShortPair pair;
  Bytes source(8), sink(8);
  pair.make_room(sink, kCredits);
  for (std::uint32_t i = 0; i < kCredits; ++i) BOOST_REQUIRE((pair.send(source) == ShortSend::kSent));
  BOOST_TEST((pair.send(source) == ShortSend::kNoCredit));
  // Half of the credits come back by themselves as the receives take the messages.
  for (std::uint32_t i = 0; i < kCredits; ++i) BOOST_REQUIRE(pair.receive(sink));
  while (pair.responder.link.deliver_message()) continue;
  pair.run();
  BOOST_TEST((pair.send(source) == ShortSend::kSent));
  BOOST_TEST(pair.initiator.connection.credits().available() + pair.responder.connection.credits_held() +
                 pair.responder.connection.credits().owed() + 1U ==
             kCredits);
}

BOOST_AUTO_TEST_CASE(what_is_too_long_or_comes_before_takes_the_whole_way) {
  ShortPair pair;
  Bytes small(8), large(kSmallBytes + 1), sink(100);
  pair.make_room(sink, 2);
  BOOST_TEST((pair.send(large) == ShortSend::kNot));
  pair.initiator.send(large, true);  // an advert, which waits for its receive
  BOOST_TEST((pair.send(small) == ShortSend::kNot));
  pair.run();
  BOOST_TEST(!pair.receive(sink));  // the advert comes first
  pair.responder.receive(sink);
  pair.run();
  BOOST_TEST(pair.receive(sink));
  BOOST_TEST((pair.send(small) == ShortSend::kSent));
  while (pair.responder.link.deliver_message()) continue;
  BOOST_TEST(pair.taker.outcomes.size() == 1U);
}

BOOST_AUTO_TEST_CASE(after_a_shutdown_or_a_failure_nothing_is_short) {
  ShortPair pair;
  Bytes small(8), sink(8);
  pair.make_room(sink, 2);
  BOOST_REQUIRE((pair.send(small) == ShortSend::kSent));
  pair.initiator.connection.shutdown_sending();
  BOOST_TEST((pair.send(small) == ShortSend::kNot));
  pair.responder.connection.abort(Status(ETIMEDOUT));
  BOOST_TEST(!pair.receive(sink));
}

BOOST_AUTO_TEST_CASE(a_message_that_breaks_the_rules_is_not_taken) {
  ShortPair pair;
  Bytes sink(48, std::byte{0xee});
  pair.make_room(sink, 1);
  std::fill(sink.begin(), sink.end(), std::byte{0xee});
  BOOST_REQUIRE(pair.receive(sink));
  wire::Message message = immediate(77);  // another one is next
  pair.responder.link.inject(bytes_of(message, 8));
  while (pair.responder.link.deliver_message()) continue;
  BOOST_TEST(pair.taker.outcomes.empty());
  pair.run();
  BOOST_TEST((pair.responder.failures == std::vector<int>{EPROTO}));
  BOOST_TEST(std::all_of(sink.begin(), sink.end(), [](std::byte each) { return each == std::byte{0xee}; }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::proto
