// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "src/proto/rdma_chunks.h"
#include "tests/proto/persistent.h"

using namespace exs;
using namespace exs::proto;
using wire::MessageType;

namespace persistent_receive_test {

bool starts_with(const Bytes& memory, const Bytes& expected, std::size_t offset = 0) {
  return std::memcmp(memory.data() + offset, expected.data(), expected.size()) == 0;
}

}  // namespace persistent_receive_test

BOOST_AUTO_TEST_SUITE(persistent_receive_test)

BOOST_AUTO_TEST_CASE(every_send_writes_the_memory_and_nothing_else_is_said) {
  PersistentPair pair;
  Bytes block(200), small = pattern(20, 1), large = pattern(200, 2), middle = pattern(70, 3), none;
  pair.receive(persistent_on(block));
  pair.run();
  BOOST_TEST((PersistentPair::said(pair.responder, 0) == Types{MessageType::kOffer}));
  const std::size_t before = pair.initiator.link.sent().size();
  pair.send(operation_on(large));
  pair.run();
  BOOST_TEST((block == large));
  pair.send(operation_on(small));
  pair.send(at_offset_on(middle, 130));
  pair.send(at_offset_on(none, 200));
  pair.run();
  BOOST_TEST(starts_with(block, small));
  BOOST_TEST(starts_with(block, middle, 130));
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors(4, 0)));
  BOOST_TEST(pair.initiator.sends[2].outcome.length_bytes == 70U);
  // Expect: 4 + 1 + 2 chunks of at most 64 bytes, no message, no outcome at the owner.
  BOOST_TEST(pair.initiator.counters.writes_posted == 7U);
  BOOST_TEST(pair.initiator.link.sent().size() == before);
  BOOST_TEST(pair.responder.receives.empty());
  BOOST_TEST(pair.responder.uses.empty());
  pair.responder.connection.close();
  pair.run();
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{ECANCELED}));
  BOOST_TEST(pair.responder.receives[0].outcome.length_bytes == 290U);
  pair.close_both();
}

BOOST_AUTO_TEST_CASE(a_send_must_lie_inside) {
  PersistentPair pair;
  Bytes block(100), ten = pattern(10, 1), none, all(100), longer(101);
  pair.receive(persistent_on(block));
  pair.run();
  struct Case {
    Operation operation;
    int error;
  };
  for (const Case& c : {Case{at_offset_on(ten, 90), 0}, Case{at_offset_on(ten, 91), ERANGE},
                        Case{at_offset_on(ten, UINT64_MAX - 3), ERANGE}, Case{at_offset_on(none, 100), 0},
                        Case{at_offset_on(none, 101), ERANGE}, Case{operation_on(all), 0},
                        Case{operation_on(longer), ERANGE}}) {
    pair.send(c.operation);
    pair.run();
    BOOST_TEST(pair.initiator.sends.back().outcome.error == c.error);
  }
  BOOST_TEST(pair.initiator.sends.size() == 7U);
}

BOOST_AUTO_TEST_CASE(a_send_ends_when_its_last_chunk_has_left_and_few_are_on_the_link) {
  PersistentPair pair;
  Bytes block(2000), large = pattern(2000, 1);
  pair.receive(persistent_on(block));
  pair.run();
  pair.send(operation_on(large));
  BOOST_TEST(pair.initiator.link.writes_outstanding() == kWriteDepth);
  for (int i = 0; i < 31; ++i) {
    BOOST_REQUIRE(pair.initiator.link.finish_send());
    BOOST_REQUIRE(pair.initiator.handle_one());
    BOOST_TEST(pair.initiator.link.writes_outstanding() <= kWriteDepth);
  }
  BOOST_TEST(pair.initiator.sends.empty());
  BOOST_REQUIRE(pair.initiator.link.finish_send());
  BOOST_REQUIRE(pair.initiator.handle_one());
  BOOST_TEST(pair.initiator.sends.size() == 1U);
  pair.run();
  BOOST_TEST((block == large));
}

BOOST_AUTO_TEST_CASE(a_send_in_several_pieces_is_written_piece_by_piece) {
  PersistentPair pair;
  Bytes block(150), one = pattern(70, 1), none, two = pattern(30, 2);
  const LocalSlice pieces[] = {{one.data(), 70, {}}, {none.data(), 0, {}}, {two.data(), 30, {}}};
  Operation operation;
  operation.vector = pieces;
  operation.memory.length_bytes = 100;
  operation.at_offset = true;
  operation.offset = 50;
  pair.receive(persistent_on(block));
  pair.run();
  pair.send(operation);
  pair.run();
  BOOST_TEST(starts_with(block, one, 50));
  BOOST_TEST(starts_with(block, two, 120));
}

BOOST_AUTO_TEST_CASE(with_notify_the_owner_is_told_behind_the_bytes) {
  PersistentPair pair;
  Bytes block(200), large = pattern(150, 1);
  pair.receive(persistent_on(block, true));
  pair.run();
  pair.send(at_offset_on(large, 50));
  pair.run();
  BOOST_TEST(starts_with(block, large, 50));
  BOOST_REQUIRE(pair.responder.uses.size() == 1);
  BOOST_TEST(pair.responder.uses[0].usage.bytes == 150U);
  BOOST_TEST(pair.responder.uses[0].usage.transfers == 1U);
  BOOST_TEST(pair.responder.uses[0].usage.last_offset == 50U);
  for (int i = 0; i < 30; ++i) {
    pair.send(operation_on(large));
    pair.run();
  }
  BOOST_TEST(pair.responder.uses.size() == 31U);
}

BOOST_AUTO_TEST_CASE(messages_sent_before_the_offer_was_known_are_put_into_the_memory_first) {
  for (const std::uint32_t credits : {1U, 2U, 5U}) {
    PersistentPair pair(agreement_of(credits, 32, 2));
    Bytes block(200), small = pattern(20, 1), large = pattern(150, 2), last = pattern(40, 3),
                      part = pattern(60, 4);
    pair.send(operation_on(small));
    pair.send(operation_on(large));
    pair.send(at_offset_on(part, 140));
    pair.receive(persistent_on(block, true));
    pair.send(operation_on(last));
    pair.run();
    // Expect: whatever crossed the offer, the memory is as if all had gone the same way.
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors(4, 0)));
    BOOST_TEST(starts_with(block, last));
    BOOST_TEST(std::memcmp(block.data() + 40, large.data() + 40, 100) == 0);
    BOOST_TEST(starts_with(block, part, 140));
    std::uint64_t told = 0;
    for (const auto& use : pair.responder.uses) told += use.usage.bytes;
    BOOST_TEST(told == 270U);
    pair.responder.connection.cancel(Direction::kReceive, {}, ECANCELED);
    pair.run();
    BOOST_TEST(pair.responder.receives.at(0).outcome.length_bytes == 270U);
    pair.close_both();
  }
}

BOOST_AUTO_TEST_CASE(a_message_that_is_longer_is_cut_and_its_sender_told_how_much_was_taken) {
  PersistentPair pair;
  Bytes block(10), small = pattern(20, 1), large = pattern(150, 2);
  pair.send(operation_on(small));
  pair.send(operation_on(large));
  pair.run();
  pair.receive(persistent_on(block));
  pair.run();
  BOOST_TEST(std::memcmp(block.data(), large.data(), 10) == 0);
  BOOST_TEST(pair.initiator.sends.at(1).outcome.length_bytes == 10U);
}

BOOST_AUTO_TEST_CASE(a_send_at_an_offset_waits_for_a_receive_and_needs_a_persistent_one) {
  PersistentPair pair;
  Bytes block(100), part = pattern(20, 1), into(100), message = pattern(50, 2);
  pair.send(at_offset_on(part, 10));
  pair.run();
  BOOST_TEST(pair.initiator.sends.empty());
  pair.receive(operation_on(into));
  pair.run();
  // Expect: a plain receive is not consumed by it.
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EINVAL}));
  BOOST_TEST(pair.responder.receives.empty());
  pair.send(operation_on(message));
  pair.run();
  BOOST_TEST(pair.responder.receives.size() == 1U);
  // Expect: a persistent one takes it if it lies inside.
  pair.send(at_offset_on(part, 10));
  pair.send(at_offset_on(part, 81));
  pair.send(at_offset_on(part, UINT64_MAX));
  pair.run();
  pair.receive(persistent_on(block));
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EINVAL, 0, 0, ERANGE, ERANGE}));
  BOOST_TEST(starts_with(block, part, 10));
}

BOOST_AUTO_TEST_CASE(it_waits_behind_earlier_receives) {
  PersistentPair pair;
  Bytes block(100), into(50), first = pattern(50, 1), second = pattern(50, 2);
  pair.receive(operation_on(into));
  pair.receive(persistent_on(block));
  pair.run();
  BOOST_TEST(pair.responder.link.sent().empty());
  pair.send(operation_on(first));
  pair.send(operation_on(second));
  pair.run();
  BOOST_TEST((into == first));
  BOOST_TEST(starts_with(block, second));
}

BOOST_AUTO_TEST_CASE(a_receive_behind_it_is_refused_until_it_is_taken_back) {
  PersistentPair pair;
  Bytes block(100), into(50), message = pattern(50, 1);
  pair.receive(persistent_on(block));
  pair.run();
  pair.receive(operation_on(into));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{EBUSY}));
  const Cancelled cancelled = pair.responder.connection.cancel(Direction::kReceive, {}, ECANCELED);
  BOOST_TEST(cancelled.begun == 1U);
  pair.receive(operation_on(into));
  pair.run();
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{EBUSY, ECANCELED}));
  // Expect: the sender is told once; the next send is a message again.
  pair.send(operation_on(message));
  pair.send(operation_on(message));
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED, 0}));
  BOOST_TEST((into == message));
}

BOOST_AUTO_TEST_CASE(sends_at_an_offset_are_cancelled_until_memory_is_offered_again) {
  PersistentPair pair;
  Bytes block(100), part = pattern(20, 1);
  pair.receive(persistent_on(block));
  pair.run();
  pair.responder.connection.cancel(Direction::kReceive, {}, ECANCELED);
  pair.run();
  for (int i = 0; i < 3; ++i) pair.send(at_offset_on(part, 0));
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors(3, ECANCELED)));
  pair.receive(persistent_on(block));
  pair.run();
  pair.send(at_offset_on(part, 5));
  pair.run();
  BOOST_TEST(pair.initiator.sends.at(3).outcome.error == 0);
  BOOST_TEST(starts_with(block, part, 5));
}

BOOST_AUTO_TEST_CASE(writes_under_way_at_the_REVOKE_finish_before_the_window_goes) {
  PersistentPair pair;
  Bytes block(2000), large = pattern(2000, 1), small = pattern(10, 2);
  pair.receive(persistent_on(block));
  pair.run();
  pair.send(operation_on(large));
  pair.send(operation_on(small));
  pair.responder.connection.cancel(Direction::kReceive, {}, ECANCELED);
  while (pair.initiator.link.deliver_message() || pair.initiator.handle_one()) {
  }
  // Expect: what was not on the link ends at once, the rest when it has left; then the window goes.
  BOOST_TEST(pair.initiator.link.writes_outstanding() == kWriteDepth);
  BOOST_TEST(pair.responder.link.windows() == 1U);
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED, ECANCELED}));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{ECANCELED}));
  BOOST_TEST(pair.responder.receives[0].outcome.length_bytes == 0U);
  BOOST_TEST(pair.responder.link.windows() == 0U);
}

BOOST_AUTO_TEST_CASE(cancel_ends_writes_that_have_not_begun) {
  PersistentPair pair;
  Bytes block(2000), large = pattern(2000, 1), small = pattern(10, 2);
  pair.receive(persistent_on(block));
  pair.run();
  pair.send(operation_on(large));
  pair.send(operation_on(small));
  const Cancelled cancelled = pair.initiator.connection.cancel(Direction::kSend, {}, ECANCELED);
  BOOST_TEST(cancelled.matched == 2U);
  BOOST_TEST(cancelled.begun == 1U);
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED, 0}));
  BOOST_TEST((block == large));
}

BOOST_AUTO_TEST_CASE(a_sender_that_ends_its_direction_releases_it_unasked) {
  for (const bool by_close : {false, true}) {
    PersistentPair pair;
    Bytes block(200), large = pattern(200, 1);
    pair.receive(persistent_on(block, true));
    pair.run();
    pair.send(operation_on(large));
    if (by_close) {
      pair.initiator.connection.close();
    } else {
      pair.initiator.connection.shutdown_sending();
    }
    pair.run();
    // Expect: the writes first, then the end of the stream.
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{0}));
    BOOST_TEST((block == large));
    BOOST_TEST((errors_of(pair.responder.receives) == Errors{0}));
    BOOST_TEST(pair.responder.receives[0].outcome.flags == static_cast<unsigned>(kEndOfStream));
    BOOST_TEST(pair.responder.receives[0].outcome.length_bytes == 200U);
    BOOST_REQUIRE(pair.responder.uses.size() == 1);
    BOOST_TEST(pair.responder.uses[0].usage.bytes == 200U);
    pair.close_both();
  }
}

BOOST_AUTO_TEST_CASE(an_offer_that_crosses_a_close_or_a_shutdown_is_released) {
  for (const bool by_close : {false, true}) {
    PersistentPair pair;
    Bytes block(200);
    pair.receive(persistent_on(block));
    if (by_close) {
      pair.initiator.connection.close();
    } else {
      pair.initiator.connection.shutdown_sending();
    }
    pair.run();
    BOOST_TEST((errors_of(pair.responder.receives) == Errors{0}));
    BOOST_TEST(pair.responder.receives[0].outcome.flags == static_cast<unsigned>(kEndOfStream));
    pair.close_both();
  }
}

BOOST_AUTO_TEST_CASE(offers_and_persistent_sends_that_cross_two_closes_are_refused) {
  PersistentPair pair;
  Bytes block(200), other(200), third(200), fourth(200);
  pair.receive(persistent_on(block));
  pair.send(operation_on(third));
  pair.initiator.connection.post_receive(persistent_on(other));
  pair.responder.connection.post_send(persistent_on(fourth));
  pair.initiator.connection.close();
  pair.responder.connection.close();
  pair.run();
  BOOST_TEST(pair.initiator.closed_count == 1);
  BOOST_TEST(pair.responder.closed_count == 1);
  BOOST_TEST(pair.initiator.receives.size() == 1U);
  BOOST_TEST(pair.responder.sends.size() == 1U);
}

BOOST_AUTO_TEST_CASE(one_posted_after_the_peer_has_ended_takes_what_waits_and_ends) {
  PersistentPair pair;
  Bytes block(200), small = pattern(20, 1), large = pattern(150, 2);
  pair.send(operation_on(large));
  pair.send(operation_on(small));
  pair.initiator.connection.shutdown_sending();
  pair.run();
  pair.receive(persistent_on(block, true));
  pair.run();
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{0}));
  BOOST_TEST(pair.responder.receives[0].outcome.length_bytes == 170U);
  BOOST_TEST(pair.responder.uses.size() == 2U);
  BOOST_TEST(starts_with(block, small));
  BOOST_TEST(pair.responder.link.windows() == 0U);
}

BOOST_AUTO_TEST_CASE(two_persistent_ends_of_one_direction_never_stand) {
  Bytes block(100), other = pattern(100, 1), into(100), message = pattern(60, 2);
  {
    PersistentPair pair;
    pair.send(persistent_on(other));
    pair.run();
    pair.receive(persistent_on(block));
    // Expect: the receive that came second ends at once, no offer is made, the window stands.
    BOOST_TEST((errors_of(pair.responder.receives) == Errors{EBUSY}));
    BOOST_TEST(pair.responder.link.sent().empty());
    pair.receive(operation_on(into));
    pair.run();
    BOOST_TEST((into == other));
  }
  {
    PersistentPair pair;
    pair.receive(persistent_on(block));
    pair.run();
    pair.send(persistent_on(other));
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EBUSY}));
    pair.send(operation_on(message));
    pair.run();
    BOOST_TEST(starts_with(block, message));
  }
  {
    // They cross: the offer stands, the advert comes back.
    PersistentPair pair;
    pair.receive(persistent_on(block));
    pair.send(persistent_on(other));
    pair.run();
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EBUSY}));
    BOOST_TEST(pair.initiator.link.windows() == 0U);
    pair.send(operation_on(message));
    pair.run();
    BOOST_TEST(starts_with(block, message));
    pair.close_both();
  }
}

BOOST_AUTO_TEST_CASE(a_REVOKE_that_crosses_the_busy_answer_is_ignored) {
  PersistentPair pair;
  Bytes block(100), other = pattern(100, 1), message = pattern(60, 2);
  pair.receive(persistent_on(block));
  pair.send(persistent_on(other));
  pair.initiator.connection.cancel(Direction::kSend, {}, ECANCELED);
  pair.send(operation_on(message));
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EBUSY, 0}));
  BOOST_TEST(starts_with(block, message));
  pair.close_both();
}

BOOST_AUTO_TEST_CASE(one_that_is_not_offered_yet_ends_at_once) {
  ConnectionPair pair(agreement_of(4, 32, 2));
  BOOST_REQUIRE(pair.responder.connection.start().ok());
  Bytes block(100);
  pair.responder.connection.post_receive(persistent_on(block));  // READY has not come
  pair.responder.connection.cancel(Direction::kReceive, {}, ECANCELED);
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{ECANCELED}));
  BOOST_REQUIRE(pair.initiator.connection.start().ok());
  pair.run();
  BOOST_TEST(pair.responder.link.sent().empty());
}

BOOST_AUTO_TEST_CASE(memory_that_cannot_be_exposed_ends_it_alone) {
  PersistentPair pair;
  Bytes block(100), message = pattern(60, 2), into(60);
  pair.responder.link.fail_call(1, EACCES);
  pair.receive(persistent_on(block));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{EACCES}));
  pair.receive(operation_on(into));
  pair.send(operation_on(message));
  pair.run();
  BOOST_TEST((into == message));
}

BOOST_AUTO_TEST_CASE(a_lost_connection_ends_it_once) {
  ConnectionPair pair(agreement_of(4, 32, 2));
  BOOST_REQUIRE(pair.start());
  Bytes block(100), large = pattern(100, 1);
  pair.run();
  pair.responder.connection.post_receive(persistent_on(block, true));
  pair.run();
  pair.initiator.connection.post_send(operation_on(large));
  pair.responder.connection.cancel(Direction::kReceive, {}, ECANCELED);
  pair.initiator.link.break_off(Status(ETIMEDOUT));
  pair.responder.link.break_off(Status(ETIMEDOUT));
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ETIMEDOUT}));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{ETIMEDOUT}));
}

BOOST_AUTO_TEST_SUITE_END()
