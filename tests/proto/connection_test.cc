// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/connection_pair.h"

using namespace exs;
using namespace exs::proto;

namespace connection_test {

const Agreement kUsual = agreement_of(4, 32, 2);

struct Joined : ConnectionPair {
  explicit Joined(const Agreement& agreement = kUsual) : ConnectionPair(agreement) { BOOST_REQUIRE(start()); }
  ~Joined() {
    for (const auto& violation : violations) BOOST_ERROR(violation);
    BOOST_TEST(!initiator.late);
    BOOST_TEST(!responder.late);
  }
};

}  // namespace connection_test

BOOST_AUTO_TEST_SUITE(connection_test)

BOOST_AUTO_TEST_CASE(the_initiator_is_ready_at_once_and_the_responder_after_the_first_message) {
  Joined pair;
  // Expect: the initiator may send before anything came from the peer.
  BOOST_TEST(pair.initiator.ready_count == 1);
  BOOST_TEST(pair.responder.ready_count == 0);
  pair.run();
  // Expect: its first message makes the responder ready.
  BOOST_TEST(pair.responder.ready_count == 1);
}

BOOST_AUTO_TEST_CASE(an_immediate_is_copied_once_and_ends_when_it_has_left) {
  Joined pair;
  Bytes from = pattern(32, 1), into(40);
  pair.initiator.send(from);
  // Expect: nothing ends before the message has left.
  BOOST_TEST(pair.initiator.sends.empty());
  pair.initiator.link.finish_send();  // READY
  pair.initiator.link.finish_send();
  while (pair.initiator.handle_one()) {
  }
  // Expect: the sender is done though the peer has posted nothing.
  BOOST_REQUIRE(pair.initiator.sends.size() == 1);
  BOOST_TEST(pair.initiator.sends[0].outcome.error == 0);
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 32U);
  BOOST_TEST(pair.initiator.sends[0].outcome.flags == static_cast<unsigned>(kImmediate));
  pair.run();
  pair.responder.receive(into);
  // Expect: the receive takes the payload out of its slot at once.
  BOOST_REQUIRE(pair.responder.receives.size() == 1);
  const Outcome& outcome = pair.responder.receives[0].outcome;
  BOOST_TEST(outcome.length_bytes == 32U);
  BOOST_TEST(outcome.flags == static_cast<unsigned>(kImmediate | kCopied | kEndOfMessage));
  BOOST_TEST(std::memcmp(into.data(), from.data(), 32) == 0);
  BOOST_TEST(pair.responder.counters.copied_bytes == 32U);
}

BOOST_AUTO_TEST_CASE(a_normal_send_is_read_in_chunks_and_ends_when_the_peer_has_it) {
  Joined pair;
  Bytes from = pattern(1000, 2), into(1000);
  pair.initiator.send(from);
  pair.run();
  // Expect: no receive, no read, no outcome; the window stands.
  BOOST_TEST(pair.initiator.sends.empty());
  BOOST_TEST(pair.initiator.link.windows() == 1U);
  pair.responder.receive(into);
  BOOST_TEST(pair.responder.link.reads_outstanding() == 2U);
  pair.run();
  // Expect: 16 chunks of 64 bytes, both ends done, the window shut, no copy.
  BOOST_TEST(pair.responder.counters.reads_posted == 16U);
  BOOST_REQUIRE(pair.initiator.sends.size() == 1);
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 1000U);
  BOOST_TEST(pair.initiator.sends[0].outcome.flags == 0U);
  BOOST_TEST(pair.responder.receives.at(0).outcome.flags == static_cast<unsigned>(kEndOfMessage));
  BOOST_TEST((into == from));
  BOOST_TEST(pair.initiator.link.windows() == 0U);
  BOOST_TEST(pair.responder.counters.copied_bytes == 0U);
}

BOOST_AUTO_TEST_CASE(a_send_that_must_not_be_immediate_waits_for_the_receiver) {
  Joined pair;
  Bytes from = pattern(8, 3), into(8);
  pair.initiator.send(from, true);
  pair.run();
  BOOST_TEST(pair.initiator.sends.empty());
  pair.responder.receive(into);
  pair.run();
  // Expect: its end means the data are in the peer's memory.
  BOOST_TEST(pair.initiator.sends.size() == 1U);
  BOOST_TEST((into == from));
}

BOOST_AUTO_TEST_CASE(messages_of_length_zero_travel_both_ways_of_sending) {
  Joined pair;
  Bytes nothing, into(4);
  pair.initiator.send(nothing);
  pair.initiator.send(nothing, true);
  pair.responder.receive(into);
  pair.responder.receive(into);
  pair.run();
  // Expect: two empty messages, no read and no window for either.
  BOOST_REQUIRE(pair.responder.receives.size() == 2);
  BOOST_TEST(pair.responder.receives[0].outcome.length_bytes == 0U);
  BOOST_TEST(pair.responder.receives[0].outcome.flags == static_cast<unsigned>(kImmediate | kEndOfMessage));
  BOOST_TEST(pair.responder.receives[1].outcome.flags == static_cast<unsigned>(kEndOfMessage));
  BOOST_TEST(pair.initiator.sends.size() == 2U);
  BOOST_TEST(pair.responder.counters.reads_posted == 0U);
}

BOOST_AUTO_TEST_CASE(a_receive_that_is_too_short_gets_what_fits_and_is_told) {
  Joined pair;
  Bytes small = pattern(20, 4), large = pattern(300, 5), into_small(10), into_large(100), into_none;
  pair.initiator.send(small);
  pair.initiator.send(large);
  pair.initiator.send(large);
  pair.responder.receive(into_small);
  pair.responder.receive(into_large);
  pair.responder.receive(into_none);
  pair.run();
  // Expect: the rest is dropped, the receiver sees kTruncated, the sender the bytes taken.
  for (const auto& ended : pair.responder.receives) BOOST_TEST((ended.outcome.flags & kTruncated) != 0U);
  BOOST_TEST(std::memcmp(into_small.data(), small.data(), 10) == 0);
  BOOST_TEST(std::memcmp(into_large.data(), large.data(), 100) == 0);
  BOOST_REQUIRE(pair.initiator.sends.size() == 3);
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 20U);
  BOOST_TEST(pair.initiator.sends[1].outcome.length_bytes == 100U);
  BOOST_TEST(pair.initiator.sends[2].outcome.length_bytes == 0U);
  BOOST_TEST(pair.initiator.sends[2].outcome.error == 0);
}

BOOST_AUTO_TEST_CASE(outcomes_come_in_post_order_though_a_later_operation_finishes_first) {
  Joined pair;
  Bytes large = pattern(200, 6), small = pattern(5, 7), into_large(200), into_small(5);
  pair.initiator.send(large);
  pair.initiator.send(small);
  pair.run();
  // Expect: the immediate has left, yet waits for the advert before it.
  BOOST_TEST(pair.initiator.sends.empty());
  pair.responder.receive(into_large);
  pair.responder.receive(into_small);
  // Expect: the second receive has its data, yet waits for the first.
  BOOST_TEST((into_small == small));
  BOOST_TEST(pair.responder.receives.empty());
  pair.run();
  BOOST_REQUIRE(pair.initiator.sends.size() == 2);
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 200U);
  BOOST_TEST(pair.responder.receives.at(0).outcome.length_bytes == 200U);
}

BOOST_AUTO_TEST_CASE(operations_of_the_responder_wait_for_the_first_message) {
  Joined pair;
  Bytes from = pattern(10, 8), into(10);
  pair.responder.send(from);
  pair.initiator.receive(into);
  BOOST_TEST(pair.responder.link.sent().empty());
  pair.run();
  BOOST_TEST(pair.responder.sends.size() == 1U);
  BOOST_TEST((into == from));
}

BOOST_AUTO_TEST_CASE(sends_wait_in_order_while_there_is_no_credit) {
  Joined pair(agreement_of(1, 32, 1));
  std::vector<Bytes> from, into(5, Bytes(32));
  for (unsigned i = 0; i < 5; ++i) from.push_back(pattern(32, i));
  for (auto& memory : from) pair.initiator.send(memory);
  pair.run();
  // Expect: one credit, one message; READY before it.
  BOOST_TEST(pair.initiator.link.sent().size() == 2U);
  BOOST_TEST(pair.initiator.counters.credit_stalls == 1U);
  for (auto& memory : into) pair.responder.receive(memory);
  pair.run();
  // Expect: every receive returned the credit by a message of its own, and all went through in order.
  BOOST_TEST(pair.initiator.sends.size() == 5U);
  BOOST_TEST((into == from));
  BOOST_TEST(pair.responder.counters.credit_messages_sent == 5U);
  BOOST_TEST(pair.initiator.counters.credit_stalls == 4U);
}

BOOST_AUTO_TEST_CASE(credits_ride_on_messages_that_go_anyway) {
  Joined pair;
  Bytes from = pattern(16, 9), into(16), back(16);
  for (int i = 0; i < 20; ++i) {
    pair.responder.receive(into);
    pair.initiator.receive(back);
    pair.initiator.send(from);
    pair.run();
    pair.responder.send(into);
    pair.run();
  }
  // Expect: a ping-pong needs no CREDIT message at all.
  BOOST_TEST(pair.initiator.sends.size() == 20U);
  BOOST_TEST(pair.responder.sends.size() == 20U);
  BOOST_TEST(pair.initiator.counters.credit_messages_sent == 0U);
  BOOST_TEST(pair.responder.counters.credit_messages_sent == 0U);
}

BOOST_AUTO_TEST_CASE(credits_go_back_by_themselves_once_half_are_owed) {
  Joined pair(agreement_of(5, 32, 1));
  Bytes small = pattern(5, 1), into(5);
  for (int i = 0; i < 5; ++i) pair.initiator.send(small);
  pair.run();
  for (const unsigned sent : {0U, 0U, 1U, 1U, 1U}) {
    pair.responder.receive(into);
    // Expect: two of five are less than half; the third makes one message that returns all three.
    BOOST_TEST(pair.responder.counters.credit_messages_sent == sent);
  }
  pair.run();
  BOOST_TEST(pair.initiator.connection.credits().available() == 3U);
  BOOST_TEST(pair.responder.connection.credits().owed() == 2U);
}

BOOST_AUTO_TEST_CASE(memory_that_cannot_be_exposed_fails_its_send_alone) {
  Joined pair;
  Bytes large = pattern(200, 1), into(200);
  pair.initiator.link.fail_call(1, EACCES);
  pair.initiator.send(large);
  pair.initiator.send(large);
  pair.responder.receive(into);
  pair.run();
  // Expect: the first ends with the link's reason, the second goes through as data message 1.
  BOOST_REQUIRE(pair.initiator.sends.size() == 2);
  BOOST_TEST(pair.initiator.sends[0].outcome.error == EACCES);
  BOOST_TEST(pair.initiator.sends[1].outcome.error == 0);
  BOOST_TEST((into == large));
}

BOOST_AUTO_TEST_CASE(an_end_that_takes_nothing_in_has_a_slot_for_everything_the_peer_may_say) {
  const Agreement agreement = agreement_of(4, 32, 2);
  Joined pair(agreement);
  pair.run();
  Bytes large = pattern(60, 1), small = pattern(5, 2), into(60);
  for (int i = 0; i < 4; ++i) pair.initiator.send(large);
  const auto run_without_initiator = [&pair] {
    for (bool moved = true; moved;) {
      moved = false;
      for (unsigned kind = 1; kind < ConnectionPair::kStepKinds; ++kind) moved |= pair.step(kind);
    }
  };
  for (int i = 0; i < 4; ++i) pair.responder.receive(into);
  run_without_initiator();
  for (int i = 0; i < 4; ++i) pair.responder.send(small);
  pair.responder.connection.shutdown_receiving();
  run_without_initiator();
  pair.responder.connection.shutdown_sending();
  run_without_initiator();
  pair.responder.connection.close();
  run_without_initiator();
  // Expect: 4 ACKs, 4 immediates, 2 SHUTDOWNs and CLOSE lie in slots; what could still come has one, too.
  BOOST_TEST(pair.initiator.link.receives_posted() == slot_count(agreement) - 11);
  pair.run();
  BOOST_TEST(pair.responder.closed_count == 1);
}

BOOST_AUTO_TEST_CASE(sequence_numbers_wrap_around) {
  ConnectionPair pair(kUsual, {64, UINT32_MAX - 2});
  BOOST_REQUIRE(pair.start());
  Bytes small = pattern(3, 1), large = pattern(100, 2), into(100);
  for (int i = 0; i < 8; ++i) {
    pair.initiator.send(i % 2 == 0 ? small : large);
    pair.responder.receive(into);
  }
  pair.run();
  BOOST_TEST(pair.initiator.sends.size() == 8U);
  BOOST_TEST(pair.initiator.failures.empty());
  BOOST_TEST(pair.responder.failures.empty());
}

BOOST_AUTO_TEST_CASE(the_public_face_does_what_its_inside_does) {
  std::vector<std::string> violations;
  FakeLink link(violations, link_depths(kUsual)), peer(violations, link_depths(kUsual));
  FakeLink::join(link, peer);
  struct Sink final : OutcomeSink {
    void completed(Direction, const Operation&, const Outcome& outcome) override {
      errors.push_back(outcome.error);
    }
    void used(Direction, const Operation&, const Usage&) override {}
    void ready() override {}
    void peer_stopped_receiving() override {}
    void closed() override {}
    void failed(Status why) override { failure = why.error(); }
    std::vector<int> errors;
    int failure = 0;
  } sink;
  Counters counters;
  Connection connection(Role::kInitiator, kUsual, link, sink, counters);
  BOOST_TEST(connection.start().ok());
  Bytes memory(64);
  Operation operation;
  operation.memory = {memory.data(), 64, {}};
  connection.post_send(operation);
  connection.post_receive(operation);
  BOOST_TEST(counters.adverts_sent == 1U);
  BOOST_TEST(connection.agreement().small_bytes == 32U);
  connection.abort(Status(ETIMEDOUT));
  BOOST_TEST((sink.errors == std::vector<int>{ETIMEDOUT, ETIMEDOUT}));
  BOOST_TEST(sink.failure == ETIMEDOUT);
}

BOOST_AUTO_TEST_SUITE_END()
