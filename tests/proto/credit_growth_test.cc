// Credits that grow beyond what was agreed: while sends wait for them and the receiver takes what arrives, up to its own bound.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <vector>

#include "tests/proto/forged.h"

using namespace exs;
using namespace exs::proto;
using wire::MessageType;

namespace credit_growth_test {

Agreement growing(std::uint16_t most, std::uint8_t version = wire::kVersionMax) {
  Agreement agreement = agreement_of(2, 8, 4);
  agreement.version = version;
  agreement.receive_credits_max = most;
  return agreement;
}

struct Traffic {
  explicit Traffic(const Agreement& agreement) : pair(agreement) { BOOST_REQUIRE(pair.start()); }

  void receive(int count) {
    for (int i = 0; i < count; ++i) pair.responder.receive(room.emplace_back(100));
  }
  void send(int count, bool never_immediate = false) {
    for (int i = 0; i < count; ++i) pair.initiator.send(data.emplace_back(4), never_immediate);
  }
  [[nodiscard]] std::uint32_t credits() const { return pair.initiator.connection.credits().send_total(); }
  // Nothing is lost, and no rule of the links is broken.
  void is_well(std::size_t messages) {
    BOOST_TEST(pair.violations.empty());
    BOOST_TEST(pair.responder.receives.size() == messages);
    const Credits& theirs = pair.responder.connection.credits();
    BOOST_TEST(theirs.receive_total() == credits());
    BOOST_TEST(pair.initiator.connection.credits().available() + theirs.owed() +
                   pair.responder.connection.credits_held() ==
               credits());
  }

  std::deque<Bytes> room, data;
  ConnectionPair pair;
};

wire::Message grant(std::uint32_t granted) {
  wire::Message message = plain(MessageType::kGrant);
  message.granted = granted;
  return message;
}

std::size_t count_of(const std::vector<wire::Message>& said, MessageType type) {
  return static_cast<std::size_t>(std::count_if(
      said.begin(), said.end(), [&](const auto& message) { return message.header.type == type; }));
}

}  // namespace credit_growth_test

using namespace credit_growth_test;

BOOST_AUTO_TEST_SUITE(credit_growth_test)

BOOST_AUTO_TEST_CASE(they_grow_to_the_receivers_bound_while_sends_wait) {
  for (const bool never_immediate : {false, true}) {
    Traffic traffic(growing(7));
    traffic.receive(40);
    traffic.send(40, never_immediate);
    traffic.pair.run();
    BOOST_TEST(traffic.credits() == 7U);
    traffic.is_well(40);
  }
}

BOOST_AUTO_TEST_CASE(they_do_not_grow_where_no_send_waits) {
  Traffic traffic(growing(7));
  for (int i = 0; i < 20; ++i) {
    traffic.receive(1);
    traffic.send(1);
    traffic.pair.run();
  }
  BOOST_TEST(traffic.credits() == 2U);
  traffic.is_well(20);
}

BOOST_AUTO_TEST_CASE(they_do_not_grow_for_a_receiver_that_takes_nothing) {
  Traffic traffic(growing(7));
  traffic.send(20);
  traffic.pair.run();
  BOOST_TEST(traffic.credits() == 2U);
  // Expect: once it receives, they do.
  traffic.receive(200);
  traffic.pair.run();
  for (int i = 0; i < 9; ++i) {
    traffic.send(20);
    traffic.pair.run();
  }
  BOOST_TEST(traffic.credits() == 7U);
  traffic.is_well(200);
}

BOOST_AUTO_TEST_CASE(over_a_distance_more_reads_are_on_the_way) {
  std::vector<std::string> violations;
  FakeLink link(violations, {});
  BOOST_TEST(read_depth(link, 1024) == kReadDepthNear);
  BOOST_TEST(read_depth(link, 4) == 4U);
  link.distance_ns = 1'000'000;
  BOOST_TEST(read_depth(link, 1024) == 100U);
  link.distance_ns = 100'000'000;
  BOOST_TEST(read_depth(link, 1024) == 1024U);
}

BOOST_AUTO_TEST_CASE(an_end_of_version_1_is_not_asked) {
  Traffic traffic(growing(7, 1));
  traffic.receive(40);
  traffic.send(40);
  traffic.pair.run();
  BOOST_TEST(traffic.credits() == 2U);
  traffic.is_well(40);
}

BOOST_AUTO_TEST_CASE(what_a_peer_asks_and_grants_is_checked) {
  for (const MessageType type : {MessageType::kMore, MessageType::kGrant}) {
    auto of_version_1 = Forged::ready(growing(7, 1));
    of_version_1->hear(type == MessageType::kMore ? plain(type) : grant(1));
    BOOST_TEST(of_version_1->lost_to_protocol_error());
  }
  auto unasked = Forged::ready(growing(7));
  unasked->hear(grant(1));
  BOOST_TEST(unasked->lost_to_protocol_error());
  auto answered = Forged::ready(growing(3));
  for (const std::uint32_t expected : {1U, 0U, 0U}) {
    answered->hear(plain(MessageType::kMore));
    BOOST_TEST((answered->said().back().header.type == MessageType::kGrant));
    BOOST_TEST(answered->said().back().granted == expected);
  }
  BOOST_TEST(answered->well());
  auto closing = Forged::ready(growing(7));
  closing->end.connection.close();
  closing->hear(plain(MessageType::kMore));
  BOOST_TEST(closing->well());
  closing->hear(plain(MessageType::kMore));
  BOOST_TEST(closing->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(more_than_the_most_is_not_granted) {
  for (const std::uint32_t granted : {wire::kCreditsMax - 2, wire::kCreditsMax - 1, UINT32_MAX}) {
    auto forged = Forged::ready(growing(7));
    std::deque<Bytes> data;
    for (int i = 0; i < 3; ++i) forged->end.send(data.emplace_back(4));
    BOOST_TEST((forged->said().back().header.type == MessageType::kMore));
    forged->hear(grant(granted));
    BOOST_TEST((granted == wire::kCreditsMax - 2 ? forged->well() : forged->lost_to_protocol_error()));
  }
}

BOOST_AUTO_TEST_CASE(an_end_that_gets_no_more_asks_more_and_more_seldom) {
  auto forged = Forged::ready(growing(7));
  std::deque<Bytes> data;
  for (int stalls = 0; stalls < 40; ++stalls) {
    for (int i = 0; i < 3; ++i) forged->end.send(data.emplace_back(4));  // the third waits
    if (forged->said().back().header.type == MessageType::kMore) forged->hear(grant(0));
    forged->hear(plain(MessageType::kCredit, 2));
    forged->hear(plain(MessageType::kCredit, 1));
    forged->run();
  }
  BOOST_TEST(forged->well());
  const std::size_t questions = count_of(forged->said(), MessageType::kMore);
  BOOST_TEST(questions >= 3U);
  BOOST_TEST(questions <= 8U);
}

BOOST_AUTO_TEST_SUITE_END()
