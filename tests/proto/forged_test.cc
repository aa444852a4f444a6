// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <array>

#include "tests/proto/forged.h"

using namespace exs;
using namespace exs::proto;
using wire::MessageType;

namespace forged_test {

const RemoteSlice kNoWindow{0, 0, 0};

std::vector<wire::Message> one_of_each() {
  return {plain(MessageType::kReady),
          advert(1, {16, 200, 1}),
          immediate(1),
          ack(1, 1),
          plain(MessageType::kCredit, 1),
          plain(MessageType::kShutdown, 0, wire::kShutdownSending),
          plain(MessageType::kClose),
          plain(MessageType::kCloseAck),
          offer(1, {16, 200, 1}),
          about_window(MessageType::kNotice, wire::kOfSend, 1, {1, 0, 1}),
          about_window(MessageType::kRevoke, wire::kOfReceive, 1),
          about_window(MessageType::kRelease, wire::kOfSend, 1),
          plain(MessageType::kProbe),
          plain(MessageType::kProbeAck)};
}

}  // namespace forged_test

BOOST_AUTO_TEST_SUITE(forged_test)

BOOST_AUTO_TEST_CASE(nothing_but_READY_may_come_first_to_a_responder) {
  for (const auto& message : one_of_each()) {
    Forged forged(Role::kResponder);
    forged.hear(message);
    // Expect: READY is fine, all else ends the connection.
    if (message.header.type == MessageType::kReady) {
      BOOST_TEST(forged.well());
    } else {
      BOOST_TEST(forged.lost_to_protocol_error());
      BOOST_TEST(forged.end.link.sent().empty());
    }
  }
}

BOOST_AUTO_TEST_CASE(READY_comes_once_and_only_to_a_responder) {
  auto responder = Forged::ready();
  responder->hear(plain(MessageType::kReady));
  BOOST_TEST(responder->lost_to_protocol_error());
  Forged initiator(Role::kInitiator);
  initiator.hear(plain(MessageType::kReady));
  BOOST_TEST(initiator.lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(every_message_cut_at_any_length_ends_the_connection) {
  for (const auto& message : one_of_each()) {
    const Bytes whole = bytes_of(message);
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const bool first = message.header.type == MessageType::kReady;
      auto forged = first ? std::make_unique<Forged>(Role::kResponder) : Forged::ready();
      Bytes into(10);
      forged->end.receive(into);
      forged->hear(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length)));
      // Expect: the open receive ends with EPROTO, then the connection.
      BOOST_TEST(forged->lost_to_protocol_error());
      BOOST_REQUIRE(forged->end.receives.size() == 1);
      BOOST_TEST(forged->end.receives[0].outcome.error == EPROTO);
    }
  }
}

BOOST_AUTO_TEST_CASE(data_messages_must_have_exactly_the_next_number) {
  for (const std::uint32_t wrong : {0U, 1U, 3U, UINT32_MAX}) {
    for (const bool as_advert : {true, false}) {
      auto forged = Forged::ready();
      forged->hear(immediate(1));
      BOOST_TEST(forged->well());
      // Expect: 2 is next; zero, old and future numbers are refused.
      forged->hear(as_advert ? advert(wrong, kNoWindow) : immediate(wrong));
      BOOST_TEST(forged->lost_to_protocol_error());
    }
  }
}

BOOST_AUTO_TEST_CASE(data_without_a_credit_end_the_connection) {
  for (const bool as_advert : {true, false}) {
    auto forged = Forged::ready();
    for (std::uint32_t sequence = 1; sequence <= 2; ++sequence) {
      forged->hear(as_advert ? advert(sequence, {16, 9, 1}) : immediate(sequence));
    }
    BOOST_TEST(forged->well());
    // Expect: two credits were agreed, none has been returned, a third message is one too many.
    forged->hear(as_advert ? advert(3, {16, 9, 1}) : immediate(3));
    BOOST_TEST(forged->lost_to_protocol_error());
  }
}

BOOST_AUTO_TEST_CASE(an_immediate_longer_than_agreed_ends_the_connection) {
  auto forged = Forged::ready();
  forged->hear(immediate(1), 33);
  BOOST_TEST(forged->well());
  // Expect: 34 bytes still fit into the slot, but 33 were agreed.
  forged->hear(immediate(2), 34);
  BOOST_TEST(forged->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(credits_that_were_not_spent_cannot_come_back) {
  Bytes memory(10);
  for (const std::uint16_t returned : std::initializer_list<std::uint16_t>{1, 2, 3, 0xffff}) {
    Forged forged(Role::kInitiator);
    forged.end.send(memory);
    forged.hear(plain(MessageType::kCredit, returned));
    // Expect: one was spent, so one may come back.
    if (returned == 1) {
      BOOST_TEST(forged.well());
      BOOST_TEST(forged.end.connection.credits().available() == 2U);
    } else {
      BOOST_TEST(forged.lost_to_protocol_error());
      BOOST_TEST(forged.end.connection.credits().available() == 1U);
    }
  }
  // Expect: the same for credits that ride on another message.
  Forged forged(Role::kInitiator);
  forged.hear(plain(MessageType::kShutdown, 1, wire::kShutdownSending));
  BOOST_TEST(forged.lost_to_protocol_error());
  BOOST_TEST(forged.end.receives.empty());
}

BOOST_AUTO_TEST_CASE(only_the_oldest_advert_can_be_acknowledged_and_only_once) {
  Bytes memory(100), small(4);
  struct Case {
    std::uint32_t sequence;
    bool fine;
  };
  for (const auto& [sequence, fine] :
       {Case{1, true}, {2, false}, {3, false}, {0, false}, {UINT32_MAX, false}}) {
    Forged forged(Role::kInitiator, agreement_of(4, 33, 2));
    forged.end.send(memory);
    forged.end.send(small);
    forged.end.send(memory);
    forged.hear(ack(sequence, 100));
    // Expect: 2 is an immediate, 3 an advert whose turn has not come, the others were never sent.
    BOOST_TEST((fine ? forged.well() : forged.lost_to_protocol_error()));
    if (!fine) continue;
    BOOST_TEST(forged.end.sends.size() == 1U);
    forged.hear(ack(1, 100));
    BOOST_TEST(forged.lost_to_protocol_error());
  }
}

BOOST_AUTO_TEST_CASE(an_ACK_of_nothing_ends_the_connection) {
  Forged forged(Role::kInitiator);
  wire::Message unasked = ack(1, 0);
  unasked.header.credits = 0;
  forged.hear(unasked);
  BOOST_TEST(forged.lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(an_ACK_cannot_take_more_than_was_offered) {
  Bytes memory(100);
  for (const std::uint64_t taken : {std::uint64_t{100}, std::uint64_t{101}, UINT64_MAX}) {
    Forged forged(Role::kInitiator);
    forged.end.send(memory);
    forged.hear(ack(1, taken));
    BOOST_TEST((taken == 100 ? forged.well() : forged.lost_to_protocol_error()));
  }
}

BOOST_AUTO_TEST_CASE(an_ACK_while_the_peer_still_reads_ends_the_connection) {
  Forged forged(Role::kInitiator);
  Bytes memory(100), stolen(100);
  forged.end.send(memory);
  const wire::Advert offered = forged.said().at(1).advert;
  BOOST_TEST(forged.peer.post_read({stolen.data(), 100, {}}, {offered.address, 100, offered.key}, 0).ok());
  BOOST_TEST(forged.peer.begin_read());
  forged.hear(ack(1, 100));
  // Expect: the send does not end well, and its window is shut before its outcome is given.
  BOOST_TEST(forged.lost_to_protocol_error());
  BOOST_TEST(forged.end.sends.at(0).outcome.error == EPROTO);
  BOOST_TEST(forged.end.link.windows() == 0U);
}

BOOST_AUTO_TEST_CASE(a_refusing_ACK_ends_the_send_with_EPIPE) {
  Forged forged(Role::kInitiator);
  Bytes memory(100);
  forged.end.send(memory);
  forged.hear(ack(1, 0, wire::AckStatus::kRefused));
  BOOST_TEST(forged.well());
  BOOST_TEST(forged.end.sends.at(0).outcome.error == EPIPE);
}

BOOST_AUTO_TEST_CASE(data_after_the_end_of_data_end_the_connection) {
  for (const auto& ending :
       {plain(MessageType::kShutdown, 0, wire::kShutdownSending), plain(MessageType::kClose)}) {
    for (const bool as_advert : {true, false}) {
      auto forged = Forged::ready();
      forged->hear(ending);
      BOOST_TEST(forged->well());
      forged->hear(as_advert ? advert(1, kNoWindow) : immediate(1));
      BOOST_TEST(forged->lost_to_protocol_error());
    }
  }
}

BOOST_AUTO_TEST_CASE(each_direction_is_shut_down_once) {
  constexpr std::array<std::uint8_t, 3> kFlags{1, 2, 3};
  const std::uint8_t both = wire::kShutdownSending | wire::kShutdownReceiving;
  for (const std::uint8_t first : kFlags) {
    for (const std::uint8_t second : kFlags) {
      auto forged = Forged::ready();
      forged->hear(plain(MessageType::kShutdown, 0, first));
      forged->hear(plain(MessageType::kShutdown, 0, second));
      BOOST_TEST(((first ^ second) == both ? forged->well() : forged->lost_to_protocol_error()));
    }
  }
}

BOOST_AUTO_TEST_CASE(CLOSE_comes_once_and_little_may_follow_it) {
  Bytes memory(100);
  for (const auto& message : one_of_each()) {
    auto forged = Forged::ready();
    forged->end.send(memory);
    forged->hear(plain(MessageType::kClose));
    BOOST_TEST(forged->well());
    // Expect: the answer waits for the ACK of our advert.
    BOOST_TEST(forged->said().size() == 1U);
    if (message.header.type == MessageType::kAck) {
      forged->hear(ack(1, 0, wire::AckStatus::kRefused));
      BOOST_TEST(forged->well());
      BOOST_TEST((forged->said().back().header.type == MessageType::kCloseAck));
    } else {
      forged->hear(message);
      BOOST_TEST(forged->lost_to_protocol_error());
    }
  }
}

BOOST_AUTO_TEST_CASE(CLOSE_before_its_adverts_were_acknowledged_ends_the_connection) {
  auto forged = Forged::ready();
  forged->hear(advert(1, {16, 9, 1}));
  forged->hear(plain(MessageType::kClose));
  BOOST_TEST(forged->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(CLOSE_ACK_must_be_asked_for_and_nothing_may_follow) {
  auto unasked = Forged::ready();
  unasked->hear(plain(MessageType::kCloseAck));
  BOOST_TEST(unasked->lost_to_protocol_error());
  for (const auto& message : one_of_each()) {
    auto forged = Forged::ready();
    forged->end.connection.close();
    forged->hear(plain(MessageType::kCloseAck));
    BOOST_TEST(forged->well());
    forged->hear(message);
    // Expect: our own CLOSE has not left yet, so closed() was not told and the error counts.
    BOOST_TEST(forged->lost_to_protocol_error());
    BOOST_TEST(forged->end.closed_count == 0);
  }
}

BOOST_AUTO_TEST_CASE(a_read_that_the_peer_refuses_ends_the_connection) {
  auto forged = Forged::ready();
  Bytes into(100);
  forged->end.receive(into);
  forged->hear(advert(1, {16, 100, 77}));
  BOOST_TEST(forged->end.link.reads_outstanding() == 2U);
  forged->run();
  // Expect: there is no such window; the receive ends with the link's reason.
  BOOST_TEST(forged->end.receives.at(0).outcome.error == EACCES);
  BOOST_TEST((forged->end.failures == std::vector<int>{EACCES}));
}

BOOST_AUTO_TEST_CASE(a_flood_of_credit_messages_never_runs_out_of_slots) {
  Forged forged(Role::kInitiator, agreement_of(1, 33, 1));
  Bytes memory(10);
  for (int i = 0; i < 100; ++i) {
    forged.end.send(memory);
    forged.hear(plain(MessageType::kCredit, 1));
    forged.run();
  }
  BOOST_TEST(forged.well());
  BOOST_TEST(forged.end.sends.size() == 100U);
}

BOOST_AUTO_TEST_CASE(an_immediate_whose_completion_was_lost_has_left_when_the_close_was_orderly) {
  auto forged = Forged::ready();
  Bytes memory(10);
  forged->end.send(memory);
  forged->hear(plain(MessageType::kClose));
  BOOST_TEST((forged->said().back().header.type == MessageType::kCloseAck));
  // Expect: the peer ends its stream because it had our CLOSE_ACK, so also what we sent before it.
  forged->end.link.break_off({});
  forged->drain();
  BOOST_TEST(forged->end.sends.at(0).outcome.error == 0);
  BOOST_TEST(forged->end.failures.empty());
}

BOOST_AUTO_TEST_CASE(an_immediate_whose_completion_was_lost_is_in_doubt_when_the_link_broke) {
  auto forged = Forged::ready();
  Bytes memory(10);
  forged->end.send(memory);
  forged->hear(plain(MessageType::kClose));
  forged->end.link.break_off(Status(ECONNRESET));
  forged->drain();
  BOOST_TEST(forged->end.sends.at(0).outcome.error == ECONNRESET);
  BOOST_TEST((forged->end.failures == std::vector<int>{ECONNRESET}));
}

BOOST_AUTO_TEST_CASE(CLOSE_waits_for_the_reads_under_way_and_their_ACK) {
  auto forged = Forged::ready();
  Bytes window(100, std::byte{7}), into(100);
  const auto exposed = forged->peer.expose({window.data(), 100, {}}, Access::kRemoteRead);
  BOOST_REQUIRE(exposed.has_value());
  forged->end.receive(into);
  forged->hear(advert(1, *exposed));
  forged->end.connection.close();
  // Expect: meanwhile the peer is told that no more will be taken.
  BOOST_TEST(forged->said().size() == 1U);
  BOOST_TEST((forged->said()[0].header.type == MessageType::kShutdown));
  forged->run();
  const auto said = forged->said(1);
  BOOST_REQUIRE(said.size() == 2);
  BOOST_TEST((said[0].header.type == MessageType::kAck));
  BOOST_TEST((said[1].header.type == MessageType::kClose));
  BOOST_TEST((into == window));
}

BOOST_AUTO_TEST_CASE(an_adverts_credit_comes_back_with_its_ACK_and_not_before) {
  auto forged = Forged::ready(agreement_of(3, 33, 2));
  Bytes window(64, std::byte{7}), into(64), memory(4);
  const auto exposed = forged->peer.expose({window.data(), 64, {}}, Access::kRemoteRead);
  BOOST_REQUIRE(exposed.has_value());
  for (std::uint32_t sequence = 1; sequence <= 3; ++sequence) {
    forged->end.receive(into);
    forged->hear(advert(sequence, *exposed));
  }
  forged->end.send(memory);
  forged->run();
  // Expect: the message that went meanwhile returns nothing, each ACK returns its own.
  const auto said = forged->said();
  BOOST_REQUIRE(said.size() == 4);
  BOOST_TEST(said[0].header.credits == 0);
  for (std::size_t i = 1; i < 4; ++i) {
    BOOST_TEST((said[i].header.type == MessageType::kAck));
    BOOST_TEST(said[i].header.sequence == i);
    BOOST_TEST(said[i].header.credits == 1);
  }
}

BOOST_AUTO_TEST_SUITE_END()
