// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/persistent.h"

using namespace exs;
using namespace exs::proto;
using wire::MessageType;

BOOST_AUTO_TEST_SUITE(persistent_send_test)

BOOST_AUTO_TEST_CASE(every_receive_reads_the_standing_window_and_nothing_else_is_said) {
  PersistentPair pair;
  Bytes block = pattern(200, 1), into(200), part(50), longer(300, std::byte{0xee});
  pair.send(persistent_on(block));
  pair.run();
  const std::size_t before = pair.initiator.link.sent().size() + pair.responder.link.sent().size();
  for (int i = 0; i < 20; ++i) {
    pair.receive(operation_on(into));
    pair.run();
    BOOST_TEST((into == block));
    block[7] = static_cast<std::byte>(i);  // the owner goes on working with its memory
  }
  pair.receive(operation_on(longer));
  pair.receive(at_offset_on(part, 150));
  pair.run();
  // Expect: a longer receive gets the window, an offset its part, and no flag tells of a cut.
  BOOST_TEST(pair.responder.receives.size() == 22U);
  BOOST_TEST(pair.responder.receives[20].outcome.length_bytes == 200U);
  BOOST_TEST(pair.responder.receives[20].outcome.flags == 0U);
  BOOST_TEST((longer[200] == std::byte{0xee}));
  BOOST_TEST(std::memcmp(part.data(), block.data() + 150, 50) == 0);
  // Expect: no message but the READs, no outcome at the owner.
  BOOST_TEST(pair.initiator.link.sent().size() + pair.responder.link.sent().size() == before);
  BOOST_TEST(pair.initiator.sends.empty());
  BOOST_TEST(pair.initiator.uses.empty());
  pair.close_both();
  // Expect: the close takes it back and tells what was read.
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 20U * 200 + 200 + 50);
}

BOOST_AUTO_TEST_CASE(a_receive_ends_as_it_is_posted_where_the_link_reads_at_once) {
  PersistentPair pair;
  pair.responder.link.let_read_now();
  Bytes block = pattern(200, 1), into(200), part(50), longer(300, std::byte{0xee});
  pair.receive(operation_on(into));  // before the window: it must wait
  pair.send(persistent_on(block));
  pair.run();
  BOOST_TEST(pair.responder.receives.size() == 1U);
  const std::uint64_t reads_before = pair.responder.counters.reads_posted;

  pair.receive(operation_on(longer));
  pair.receive(at_offset_on(part, 150));
  // Expect: nothing has run, and both are there.
  BOOST_REQUIRE(pair.responder.receives.size() == 3U);
  BOOST_TEST(pair.responder.receives[1].outcome.length_bytes == 200U);
  BOOST_TEST(pair.responder.receives[1].outcome.flags == 0U);
  BOOST_TEST((longer[199] == block[199] && longer[200] == std::byte{0xee}));
  BOOST_TEST(std::memcmp(part.data(), block.data() + 150, 50) == 0);
  BOOST_TEST(pair.responder.link.reads_outstanding() == 0U);
  const Counters counters = pair.responder.counters;
  BOOST_TEST(counters.reads_posted == reads_before + 2);
  BOOST_TEST(counters.direct_bytes == 450U);

  Bytes beyond(60);
  pair.receive(at_offset_on(beyond, 150));
  pair.run();
  BOOST_REQUIRE(pair.responder.receives.size() == 4U);
  BOOST_TEST(pair.responder.receives[3].outcome.error == ERANGE);
  pair.close_both();
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 450U);
}

BOOST_AUTO_TEST_CASE(a_receive_behind_another_waits_for_it_where_the_link_reads_at_once) {
  PersistentPair pair;
  Bytes block = pattern(64, 1), first(64), second(64);
  pair.send(persistent_on(block));
  pair.run();
  pair.receive(operation_on(first));
  pair.responder.link.let_read_now();
  pair.receive(operation_on(second));
  BOOST_TEST(pair.responder.receives.empty());
  pair.run();
  BOOST_TEST(pair.responder.receives.size() == 2U);
  BOOST_TEST((first == block && second == block));
}

BOOST_AUTO_TEST_CASE(its_credit_is_owed_as_soon_as_it_is_taken_in) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes block = pattern(40, 1);
  pair.send(persistent_on(block));
  pair.run();
  BOOST_TEST(pair.initiator.connection.credits().available() == 1U);
  BOOST_TEST(pair.responder.connection.credits_held() == 0U);
}

BOOST_AUTO_TEST_CASE(it_waits_its_turn_at_both_ends) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes block = pattern(40, 1), small = pattern(9, 2), large = pattern(90, 3), first(90), second(90),
        third(90);
  pair.send(operation_on(small));
  pair.send(operation_on(large));
  pair.send(persistent_on(block));
  pair.run();
  for (Bytes* into : {&first, &second, &third}) pair.receive(operation_on(*into));
  pair.run();
  // Expect: the messages before it go to the first receives.
  BOOST_TEST(std::memcmp(first.data(), small.data(), 9) == 0);
  BOOST_TEST((second == large));
  BOOST_TEST(std::memcmp(third.data(), block.data(), 40) == 0);
  BOOST_TEST(pair.responder.receives.at(2).outcome.length_bytes == 40U);
}

BOOST_AUTO_TEST_CASE(a_receive_at_an_offset_must_lie_inside) {
  PersistentPair pair;
  Bytes block = pattern(100, 1), ten(10), none, all(100);
  pair.send(persistent_on(block));
  pair.run();
  struct Case {
    Bytes* into;
    std::uint64_t offset;
    int error;
  };
  for (const Case& c : {Case{&ten, 90, 0}, Case{&ten, 91, ERANGE}, Case{&ten, 100, ERANGE},
                        Case{&ten, UINT64_MAX - 5, ERANGE}, Case{&none, 100, 0}, Case{&none, 101, ERANGE},
                        Case{&all, 0, 0}, Case{&all, 1, ERANGE}}) {
    const std::size_t before = pair.responder.receives.size();
    pair.receive(at_offset_on(*c.into, c.offset));
    pair.run();
    BOOST_REQUIRE(pair.responder.receives.size() == before + 1);
    BOOST_TEST(pair.responder.receives.back().outcome.error == c.error);
  }
  // Expect: the connection lives on.
  pair.receive(operation_on(all));
  pair.run();
  BOOST_TEST((all == block));
}

BOOST_AUTO_TEST_CASE(a_receive_at_an_offset_does_not_consume_an_ordinary_message) {
  PersistentPair pair;
  Bytes small = pattern(9, 1), large = pattern(99, 2), into(99), block = pattern(50, 3), part(20);
  pair.send(operation_on(small));
  pair.send(operation_on(large));
  pair.run();
  for (int i = 0; i < 2; ++i) {
    pair.receive(at_offset_on(part, 0));
    pair.receive(operation_on(into));
    pair.run();
  }
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{EINVAL, 0, EINVAL, 0}));
  BOOST_TEST((into == large));
  // Expect: with nothing there it waits, and gets what it was meant for.
  pair.receive(at_offset_on(part, 30));
  pair.run();
  BOOST_TEST(pair.responder.receives.size() == 4U);
  pair.send(persistent_on(block));
  pair.run();
  BOOST_TEST(pair.responder.receives.at(4).outcome.length_bytes == 20U);
  BOOST_TEST(std::memcmp(part.data(), block.data() + 30, 20) == 0);
}

BOOST_AUTO_TEST_CASE(with_notify_the_owner_is_told_of_every_read) {
  PersistentPair pair;
  Bytes block = pattern(100, 1), ten(10), all(100);
  pair.send(persistent_on(block, true));
  pair.run();
  pair.receive(at_offset_on(ten, 40));
  pair.run();
  pair.receive(operation_on(all));
  pair.run();
  BOOST_REQUIRE(pair.initiator.uses.size() == 2);
  BOOST_TEST(pair.initiator.uses[0].usage.bytes == 10U);
  BOOST_TEST(pair.initiator.uses[0].usage.transfers == 1U);
  BOOST_TEST(pair.initiator.uses[0].usage.last_offset == 40U);
  BOOST_TEST(pair.initiator.uses[1].usage.bytes == 100U);
  BOOST_TEST(pair.initiator.uses[1].usage.last_offset == 0U);
  BOOST_TEST(pair.initiator.counters.notices_received == 2U);
  BOOST_TEST(pair.responder.counters.notices_sent == 2U);
}

BOOST_AUTO_TEST_CASE(notices_add_up_while_there_is_no_credit) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes block = pattern(100, 1), ten(10), small = pattern(5, 2), into(5);
  pair.send(persistent_on(block, true));
  pair.run();
  pair.responder.send(small);  // takes the only credit of that direction
  for (unsigned i = 0; i < 5; ++i) pair.receive(at_offset_on(ten, i));
  pair.run();
  BOOST_TEST(pair.responder.receives.size() == 5U);
  BOOST_TEST(pair.initiator.uses.empty());
  pair.initiator.receive(into);
  pair.run();
  // Expect: the credit is back, one notice tells all five.
  BOOST_REQUIRE(pair.initiator.uses.size() == 1);
  BOOST_TEST(pair.initiator.uses[0].usage.bytes == 50U);
  BOOST_TEST(pair.initiator.uses[0].usage.transfers == 5U);
  BOOST_TEST(pair.initiator.uses[0].usage.last_offset == 4U);
}

BOOST_AUTO_TEST_CASE(notices_go_on_after_their_side_has_shut_down_sending) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes block = pattern(100, 1), ten(10);
  pair.send(persistent_on(block, true));
  pair.responder.connection.shutdown_sending();
  pair.run();
  for (unsigned i = 0; i < 7; ++i) {
    pair.receive(at_offset_on(ten, i));
    pair.run();
  }
  BOOST_TEST(pair.initiator.uses.size() == 7U);
}

BOOST_AUTO_TEST_CASE(notices_and_sends_share_one_credit_fairly) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes block = pattern(100, 1), ten(10), small = pattern(5, 2), into(5);
  pair.send(persistent_on(block, true));
  pair.run();
  for (int i = 0; i < 10; ++i) {
    pair.receive(operation_on(ten));
    pair.initiator.receive(into);
    pair.responder.send(small);
  }
  pair.run();
  BOOST_TEST(pair.responder.sends.size() == 10U);
  std::uint32_t told = 0;
  for (const auto& use : pair.initiator.uses) told += use.usage.transfers;
  BOOST_TEST(told == 10U);
}

BOOST_AUTO_TEST_CASE(cancel_takes_it_back_and_tells_the_next_receive) {
  PersistentPair pair;
  Bytes block = pattern(100, 1), ten(10), into(100), message = pattern(100, 2);
  pair.send(persistent_on(block, true));
  pair.run();
  pair.receive(operation_on(ten));
  pair.run();
  const Cancelled cancelled = pair.initiator.connection.cancel(Direction::kSend, {}, ECANCELED);
  BOOST_TEST(cancelled.matched == 1U);
  BOOST_TEST(cancelled.begun == 1U);
  BOOST_TEST(pair.initiator.sends.empty());
  pair.send(operation_on(message));  // waits until the window has come back
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 10U);
  // Expect: the next plain receive is told once, whether or not something new has come.
  pair.receive(operation_on(into));
  pair.receive(operation_on(into));
  pair.run();
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{0, ECANCELED, 0}));
  BOOST_TEST((into == message));
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED, 0}));
}

BOOST_AUTO_TEST_CASE(receives_at_an_offset_are_cancelled_until_something_new_comes) {
  PersistentPair pair;
  Bytes block = pattern(100, 1), ten(10);
  pair.send(persistent_on(block));
  pair.run();
  pair.initiator.connection.cancel(Direction::kSend, {}, ECANCELED);
  pair.run();
  for (int i = 0; i < 3; ++i) pair.receive(at_offset_on(ten, 0));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors(3, ECANCELED)));
  pair.send(persistent_on(block));
  pair.run();
  pair.receive(at_offset_on(ten, 0));
  pair.run();
  BOOST_TEST(pair.responder.receives.at(3).outcome.error == 0);
}

BOOST_AUTO_TEST_CASE(reads_under_way_at_the_REVOKE_finish_before_the_window_goes) {
  PersistentPair pair;
  Bytes block = pattern(1000, 1), into(1000);
  pair.send(persistent_on(block));
  pair.run();
  pair.receive(operation_on(into));  // 16 chunks, two at a time
  pair.receive(operation_on(into));
  BOOST_TEST(pair.responder.link.reads_outstanding() == 2U);
  BOOST_TEST(pair.responder.link.begin_read());
  pair.initiator.connection.cancel(Direction::kSend, {}, ECANCELED);
  while (pair.responder.link.deliver_message() || pair.responder.handle_one()) {
  }
  // Expect: nothing new is read; the first receive waits for what is under way.
  BOOST_TEST(pair.responder.link.reads_outstanding() == 2U);
  BOOST_TEST(pair.responder.receives.empty());
  BOOST_TEST(pair.initiator.link.windows() == 1U);
  pair.run();
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{ECANCELED, ECANCELED}));
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 0U);
  // Expect: they were told, so a later receive waits for the next message.
  pair.receive(operation_on(into));
  pair.run();
  BOOST_TEST(pair.responder.receives.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_window_taken_back_before_its_turn_leaves_one_mark) {
  PersistentPair pair;
  Bytes block = pattern(60, 1), message = pattern(50, 2), into(60);
  Operation spared = operation_on(message);
  spared.tag.handle = &message;
  pair.send(spared);
  for (int i = 0; i < 5; ++i) {
    pair.send(persistent_on(block));
    pair.run();
    for (int twice = 0; twice < 2; ++twice)
      pair.initiator.connection.cancel(Direction::kSend, {false, nullptr, UINT64_MAX}, ECANCELED);
    pair.run();
  }
  for (int i = 0; i < 3; ++i) pair.receive(operation_on(into));
  pair.run();
  // Expect: the message, one receive that is told, one that waits.
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{0, ECANCELED}));
}

BOOST_AUTO_TEST_CASE(a_send_behind_it_is_refused_until_it_is_taken_back) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes block = pattern(60, 1), message = pattern(50, 2);
  pair.send(operation_on(message));
  pair.send(persistent_on(block));  // has no credit yet
  pair.send(operation_on(message));
  pair.send(persistent_on(block));
  Bytes into(60);
  pair.receive(operation_on(into));
  pair.run();
  pair.send(operation_on(message));
  pair.close_both();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{0, ECANCELED, EBUSY, EBUSY, EBUSY}));
}

BOOST_AUTO_TEST_CASE(one_that_was_not_sent_yet_ends_at_once) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes block = pattern(60, 1), message = pattern(50, 2), into(60);
  pair.send(operation_on(message));
  pair.send(persistent_on(block));
  const Cancelled cancelled = pair.initiator.connection.cancel(Direction::kSend, {}, ETIMEDOUT);
  // Expect: out of its turn; the first has met its receive when the peer is asked for it.
  BOOST_TEST(cancelled.matched == 2U);
  BOOST_TEST(cancelled.asked == 1U);
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ETIMEDOUT}));
  pair.receive(operation_on(into));
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ETIMEDOUT, 0}));
}

BOOST_AUTO_TEST_CASE(a_time_limit_spares_it) {
  PersistentPair pair;
  Bytes block = pattern(60, 1);
  pair.send(persistent_on(block));
  pair.run();
  BOOST_TEST(pair.initiator.connection.oldest_post_ns(Direction::kSend) == UINT64_MAX);
  const Cancelled cancelled =
      pair.initiator.connection.cancel(Direction::kSend, {true, nullptr, 1000}, ETIMEDOUT);
  BOOST_TEST(cancelled.matched == 0U);
}

BOOST_AUTO_TEST_CASE(shutdown_of_sending_takes_it_back_then_ends_the_direction) {
  PersistentPair pair;
  Bytes block = pattern(60, 1), into(60);
  pair.send(persistent_on(block));
  pair.run();
  pair.receive(operation_on(into));
  pair.run();
  pair.initiator.connection.shutdown_sending();
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  pair.receive(operation_on(into));
  pair.receive(operation_on(into));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{0, ECANCELED, 0}));
  BOOST_TEST(pair.responder.receives[2].outcome.flags == static_cast<unsigned>(kEndOfStream));
  pair.close_both();
}

BOOST_AUTO_TEST_CASE(a_reader_that_stops_receiving_releases_it_unasked) {
  for (const bool by_close : {false, true}) {
    PersistentPair pair;
    Bytes block = pattern(200, 1), into(200);
    pair.send(persistent_on(block, true));
    pair.run();
    pair.receive(operation_on(into));
    if (by_close) {
      pair.responder.connection.close();
    } else {
      pair.responder.connection.shutdown_receiving();
    }
    // Expect: the read under way goes on first.
    BOOST_TEST(pair.initiator.link.windows() == 1U);
    pair.run();
    BOOST_TEST((into == block));
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EPIPE}));
    BOOST_TEST(pair.initiator.sends[0].outcome.length_bytes == 200U);
    // Expect: what no notice had told came with the release.
    BOOST_REQUIRE(pair.initiator.uses.size() == 1);
    BOOST_TEST(pair.initiator.uses[0].usage.bytes == 200U);
    pair.close_both();
  }
}

BOOST_AUTO_TEST_CASE(it_crosses_a_close_or_a_shutdown_and_is_refused) {
  for (const bool by_close : {false, true}) {
    PersistentPair pair;
    Bytes block = pattern(60, 1);
    if (by_close) {
      pair.responder.connection.close();
    } else {
      pair.responder.connection.shutdown_receiving();
    }
    pair.send(persistent_on(block));
    pair.run();
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EPIPE}));
    pair.close_both();
  }
}

BOOST_AUTO_TEST_CASE(a_REVOKE_that_crosses_the_release_is_ignored) {
  PersistentPair pair;
  Bytes block = pattern(60, 1), large = pattern(100, 1), into(100);
  pair.send(persistent_on(block));
  pair.run();
  pair.responder.connection.shutdown_receiving();
  pair.initiator.connection.cancel(Direction::kSend, {}, ECANCELED);
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  pair.initiator.receive(into);
  pair.responder.send(large);
  pair.run();
  BOOST_TEST((into == large));
  pair.close_both();
}

BOOST_AUTO_TEST_CASE(an_empty_one_has_no_window_and_can_still_be_received) {
  PersistentPair pair;
  Bytes none, into(10);
  pair.send(persistent_on(none, true));
  pair.run();
  BOOST_TEST(pair.initiator.link.windows() == 0U);
  pair.receive(operation_on(into));
  pair.receive(at_offset_on(none, 0));
  pair.receive(at_offset_on(into, 0));
  pair.run();
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{0, 0, ERANGE}));
  BOOST_TEST(pair.initiator.uses.size() == 2U);
  pair.close_both();
}

BOOST_AUTO_TEST_CASE(memory_that_cannot_be_exposed_ends_it_alone) {
  PersistentPair pair;
  Bytes block = pattern(60, 1), into(60);
  pair.initiator.link.fail_call(1, EACCES);
  pair.send(persistent_on(block));
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EACCES}));
  pair.send(operation_on(block));
  pair.receive(operation_on(into));
  pair.run();
  BOOST_TEST((into == block));
}

BOOST_AUTO_TEST_CASE(a_lost_connection_ends_it_once) {
  ConnectionPair pair(agreement_of(4, 32, 2));
  BOOST_REQUIRE(pair.start());
  Bytes block = pattern(60, 1), into(60);
  pair.initiator.connection.post_send(persistent_on(block, true));
  pair.run();
  pair.responder.connection.post_receive(operation_on(into));
  pair.initiator.connection.cancel(Direction::kSend, {}, ECANCELED);
  pair.initiator.link.break_off(Status(ETIMEDOUT));
  pair.responder.link.break_off(Status(ETIMEDOUT));
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ETIMEDOUT}));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{ETIMEDOUT}));
  BOOST_TEST((pair.initiator.failures == Errors{ETIMEDOUT}));
}

BOOST_AUTO_TEST_SUITE_END()
