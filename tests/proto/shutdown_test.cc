// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/connection_pair.h"

using namespace exs;
using namespace exs::proto;
using wire::MessageType;

namespace shutdown_test {

struct Joined : ConnectionPair {
  explicit Joined(const Agreement& agreement = agreement_of(4, 32, 2)) : ConnectionPair(agreement) {
    BOOST_REQUIRE(start());
    run();
  }
  ~Joined() {
    for (const auto& violation : violations) BOOST_ERROR(violation);
    BOOST_TEST(!initiator.late);
    BOOST_TEST(!responder.late);
  }
};

std::vector<int> errors(const std::vector<End::EndedOperation>& ended) {
  std::vector<int> found;
  for (const auto& operation : ended) found.push_back(operation.outcome.error);
  return found;
}

bool is_end_of_stream(const End::EndedOperation& ended) {
  return ended.outcome.error == 0 && ended.outcome.length_bytes == 0 && ended.outcome.flags == kEndOfStream;
}

bool said(const End& end, MessageType type) {
  for (const auto& message : end.link.sent()) {
    if (message[0] == static_cast<std::byte>(type)) return true;
  }
  return false;
}

using Errors = std::vector<int>;

}  // namespace shutdown_test

BOOST_AUTO_TEST_SUITE(shutdown_test)

BOOST_AUTO_TEST_CASE(shutdown_of_sending_follows_everything_posted_before) {
  Joined pair(agreement_of(1, 32, 2));
  Bytes large = pattern(100, 1), into(100);
  pair.initiator.send(large);
  pair.initiator.send(large);
  pair.initiator.connection.shutdown_sending();
  pair.initiator.send(large);
  pair.run();
  // Expect: one credit, so the second message waits, and SHUTDOWN behind it.
  BOOST_TEST(!said(pair.initiator, MessageType::kShutdown));
  for (int i = 0; i < 4; ++i) pair.responder.receive(into);
  pair.run();
  BOOST_TEST((errors(pair.initiator.sends) == Errors{0, 0, EPIPE}));
  // Expect: both messages, then end of stream for every further receive.
  BOOST_REQUIRE(pair.responder.receives.size() == 4);
  BOOST_TEST(pair.responder.receives[1].outcome.length_bytes == 100U);
  BOOST_TEST(is_end_of_stream(pair.responder.receives[2]));
  BOOST_TEST(is_end_of_stream(pair.responder.receives[3]));
  pair.responder.receive(into);
  BOOST_TEST(is_end_of_stream(pair.responder.receives.at(4)));
  // Expect: the other direction goes on.
  pair.initiator.receive(into);
  pair.responder.send(large);
  pair.run();
  BOOST_TEST((into == large));
}

BOOST_AUTO_TEST_CASE(messages_that_wait_are_delivered_before_the_end_of_stream) {
  Joined pair;
  Bytes small = pattern(9, 1), large = pattern(99, 2), into_small(9), into_large(99), into(4);
  pair.initiator.send(small);
  pair.initiator.send(large);
  pair.initiator.connection.shutdown_sending();
  pair.run();
  pair.responder.receive(into_small);
  pair.responder.receive(into_large);
  pair.responder.receive(into);
  pair.run();
  BOOST_TEST((into_small == small));
  BOOST_TEST((into_large == large));
  BOOST_TEST(is_end_of_stream(pair.responder.receives.at(2)));
}

BOOST_AUTO_TEST_CASE(shutdown_of_receiving_ends_receives_and_refuses_the_peer) {
  Joined pair;
  Bytes small = pattern(9, 1), large = pattern(99, 2), into(99), later(9);
  // One transfer under way, one open receive that would match nothing, one advert and one immediate waiting.
  pair.initiator.send(large);
  pair.responder.receive(into);
  while (pair.responder.link.deliver_message() || pair.responder.handle_one()) {
  }
  BOOST_TEST(pair.responder.link.reads_outstanding() == 2U);
  pair.initiator.send(large);
  pair.initiator.send(small);
  while (pair.responder.link.deliver_message() || pair.responder.handle_one()) {
  }
  pair.responder.connection.shutdown_receiving();
  pair.responder.receive(later);
  // Expect: the later receive waits its turn behind the transfer under way.
  BOOST_TEST(pair.responder.receives.empty());
  pair.run();
  BOOST_REQUIRE(pair.responder.receives.size() == 2);
  BOOST_TEST((into == large));
  BOOST_TEST(is_end_of_stream(pair.responder.receives[1]));
  // Expect: the first arrived, the waiting advert is refused, the immediate had left.
  BOOST_TEST((errors(pair.initiator.sends) == Errors{0, EPIPE, 0}));
  BOOST_TEST(pair.initiator.peer_stopped_count == 1);
  pair.initiator.send(small);
  BOOST_TEST(pair.initiator.sends.at(3).outcome.error == EPIPE);
  // Expect: every credit came back.
  BOOST_TEST(pair.initiator.connection.credits().available() + pair.responder.connection.credits().owed() ==
             4U);
}

BOOST_AUTO_TEST_CASE(sends_without_a_credit_end_when_the_peer_stops_receiving) {
  Joined pair(agreement_of(1, 32, 1));
  Bytes large = pattern(99, 2);
  for (int i = 0; i < 3; ++i) pair.initiator.send(large);
  pair.responder.connection.shutdown_receiving();
  pair.run();
  BOOST_TEST((errors(pair.initiator.sends) == Errors{EPIPE, EPIPE, EPIPE}));
  BOOST_TEST(pair.initiator.link.windows() == 0U);
}

BOOST_AUTO_TEST_CASE(shutdown_twice_says_nothing_twice) {
  Joined pair;
  for (int i = 0; i < 2; ++i) {
    pair.initiator.connection.shutdown_sending();
    pair.initiator.connection.shutdown_receiving();
    pair.run();
  }
  BOOST_TEST(pair.responder.failures.empty());
  BOOST_TEST(pair.initiator.link.sent().size() == 3U);
}

BOOST_AUTO_TEST_CASE(close_of_an_idle_connection_is_one_message_each_way) {
  Joined pair;
  Bytes into(10);
  pair.responder.receive(into);
  pair.initiator.connection.close();
  pair.run();
  BOOST_TEST(pair.initiator.closed_count == 1);
  BOOST_TEST(pair.initiator.link.sent().size() == 2U);  // READY, CLOSE
  BOOST_TEST(pair.responder.link.sent().size() == 1U);  // CLOSE_ACK
  // Expect: the peer sees an orderly end in both directions, and nothing when the link goes.
  BOOST_TEST(is_end_of_stream(pair.responder.receives.at(0)));
  BOOST_TEST(pair.responder.peer_stopped_count == 1);
  pair.initiator.link.close();
  pair.run();
  BOOST_TEST(pair.responder.failures.empty());
  pair.responder.send(into);
  BOOST_TEST(pair.responder.sends.at(0).outcome.error == EPIPE);
  // Expect: its own close has nothing left to do.
  pair.responder.connection.close();
  BOOST_TEST(pair.responder.closed_count == 1);
}

BOOST_AUTO_TEST_CASE(close_cancels_open_receives_and_lets_transfers_and_sends_finish) {
  Joined pair;
  Bytes large = pattern(99, 2), into(99), open(10), peer_into(99);
  pair.initiator.receive(into);
  pair.initiator.receive(open);
  pair.responder.send(large);
  while (pair.initiator.link.deliver_message() || pair.initiator.handle_one()) {
  }
  pair.initiator.send(large);
  pair.initiator.connection.close();
  pair.run();
  // Expect: the receive that had its message is whole, the open one cancelled; our send waits for the peer.
  BOOST_TEST((errors(pair.initiator.receives) == Errors{0, ECANCELED}));
  BOOST_TEST((into == large));
  BOOST_TEST(pair.initiator.closed_count == 0);
  BOOST_TEST(!said(pair.initiator, MessageType::kClose));
  // Expect: the peer knows meanwhile that nothing will be taken.
  BOOST_TEST(pair.responder.peer_stopped_count == 1);
  pair.responder.receive(peer_into);
  pair.run();
  BOOST_TEST((peer_into == large));
  BOOST_TEST(pair.initiator.closed_count == 1);
  BOOST_TEST(pair.initiator.sends.at(0).outcome.error == 0);
}

BOOST_AUTO_TEST_CASE(messages_that_cross_a_close_are_refused_and_their_sends_end) {
  Joined pair;
  Bytes large = pattern(99, 2), small = pattern(5, 1);
  pair.initiator.connection.close();
  pair.responder.send(large);
  pair.responder.send(small);
  pair.run();
  BOOST_TEST(pair.initiator.closed_count == 1);
  BOOST_TEST((errors(pair.responder.sends) == Errors{EPIPE, 0}));
  BOOST_TEST(pair.responder.link.windows() == 0U);
}

BOOST_AUTO_TEST_CASE(immediates_received_before_the_close_outlive_the_link) {
  Joined pair;
  Bytes small = pattern(5, 1), into(5), more(5);
  pair.initiator.send(small);
  pair.initiator.connection.close();
  pair.run();
  BOOST_TEST(pair.initiator.closed_count == 1);
  pair.initiator.link.close();
  pair.run();
  BOOST_TEST(!pair.responder.link.is_open());
  pair.responder.receive(into);
  pair.responder.receive(more);
  // Expect: data, then end of stream, though nothing can be posted on the link any more.
  BOOST_TEST((into == small));
  BOOST_TEST(is_end_of_stream(pair.responder.receives.at(1)));
  BOOST_TEST(pair.responder.failures.empty());
}

BOOST_AUTO_TEST_CASE(both_ends_may_close_at_once) {
  Joined pair;
  pair.initiator.connection.close();
  pair.responder.connection.close();
  pair.run();
  BOOST_TEST(pair.initiator.closed_count == 1);
  BOOST_TEST(pair.responder.closed_count == 1);
  BOOST_TEST(said(pair.responder, MessageType::kClose));
}

BOOST_AUTO_TEST_CASE(two_closes_refuse_what_the_other_had_waiting) {
  Joined pair;
  Bytes large = pattern(99, 2);
  for (int i = 0; i < 6; ++i) {
    pair.initiator.send(large);
    pair.responder.send(large);
  }
  pair.run();
  pair.initiator.connection.close();
  pair.responder.connection.close();
  pair.run();
  // Expect: neither waits for a receive the other will never post.
  BOOST_TEST(pair.initiator.closed_count == 1);
  BOOST_TEST(pair.responder.closed_count == 1);
  BOOST_TEST((errors(pair.initiator.sends) == Errors(6, EPIPE)));
}

BOOST_AUTO_TEST_CASE(a_responder_that_closes_before_READY_waits_for_it) {
  ConnectionPair pair(agreement_of(4, 32, 2));
  BOOST_REQUIRE(pair.responder.connection.start().ok());
  pair.responder.connection.close();
  pair.run();
  BOOST_TEST(pair.responder.link.sent().empty());
  BOOST_REQUIRE(pair.initiator.connection.start().ok());
  pair.run();
  BOOST_TEST(pair.responder.closed_count == 1);
}

BOOST_AUTO_TEST_CASE(a_link_that_goes_before_the_handshake_is_complete_is_a_reset) {
  Joined pair;
  Bytes large = pattern(99, 2), into(5);
  pair.initiator.send(large);
  pair.initiator.connection.close();
  pair.run();
  pair.initiator.link.break_off({});
  pair.run();
  BOOST_TEST(pair.initiator.closed_count == 0);
  BOOST_TEST((pair.initiator.failures == Errors{ECONNRESET}));
  BOOST_TEST(pair.initiator.sends.at(0).outcome.error == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(an_end_of_the_link_without_a_close_resets_every_open_operation) {
  for (const int why : {0, ETIMEDOUT}) {
    Joined pair;
    Bytes large = pattern(99, 2), small(4), into(5);
    pair.responder.send(large);
    pair.responder.send(small);
    pair.responder.receive(into);
    pair.run();
    pair.responder.link.break_off(Status(why));
    pair.run();
    const int expected = why == 0 ? ECONNRESET : why;
    BOOST_TEST((errors(pair.responder.sends) == Errors{expected, expected}));
    BOOST_TEST((errors(pair.responder.receives) == Errors{expected}));
    BOOST_TEST((pair.responder.failures == Errors{expected}));
    // Expect: what is posted afterwards ends the same way, at once.
    pair.responder.late = false;
    pair.responder.send(small);
    BOOST_TEST(pair.responder.sends.at(2).outcome.error == expected);
    pair.responder.late = false;
  }
}

BOOST_AUTO_TEST_CASE(abort_ends_everything_once) {
  Joined pair;
  Bytes large = pattern(99, 2), into(5);
  for (int i = 0; i < 6; ++i) pair.initiator.send(large);
  pair.initiator.receive(into);
  pair.initiator.connection.abort(Status(ETIMEDOUT));
  pair.initiator.connection.abort(Status(ECANCELED));
  // Expect: the windows are shut before the memory is given back.
  BOOST_TEST(!pair.initiator.link.is_open());
  BOOST_TEST((errors(pair.initiator.sends) == Errors(6, ETIMEDOUT)));
  BOOST_TEST((errors(pair.initiator.receives) == Errors{ETIMEDOUT}));
  BOOST_TEST((pair.initiator.failures == Errors{ETIMEDOUT}));
  pair.run();
  // Expect: the peer learns by the end of the link.
  BOOST_TEST((pair.responder.failures == Errors{ECONNRESET}));
}

BOOST_AUTO_TEST_SUITE_END()
