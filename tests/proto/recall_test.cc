// RECALL: a normal send that no receive has met is taken back; one that was begun with ends as it would have.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "tests/proto/forged.h"

using namespace exs::proto;
using exs::wire::MessageType;

namespace recall_test {

using Errors = std::vector<int>;

Cancelled cancel_sends(End& end, void* handle = nullptr) {
  Selection selection;
  selection.any_handle = handle == nullptr;
  selection.handle = handle;
  return end.connection.cancel(Direction::kSend, selection, ECANCELED);
}

Operation normal(Bytes& memory) {
  Operation operation;
  operation.memory = {memory.data(), memory.size(), {}};
  operation.never_immediate = true;
  operation.tag.handle = &memory;
  return operation;
}

exs::wire::Message about_advert(MessageType type, std::uint32_t sequence, std::uint8_t flags = 0) {
  exs::wire::Message message = plain(type, 0, flags);
  message.header.sequence = sequence;
  return message;
}

struct Started : ConnectionPair {
  explicit Started(SocketKind kind = SocketKind::kMessage) : ConnectionPair(agreement(kind)) {
    BOOST_REQUIRE(start());
    run();
  }
  static Agreement agreement(SocketKind kind) {
    Agreement agreement = agreement_of(4, 20, 2);
    agreement.kind = kind;
    return agreement;
  }
  // Nothing is lost: all credits are back, no window stands, and nobody has seen an error.
  void check_rest() {
    BOOST_TEST(initiator.link.windows() == 0U);
    BOOST_TEST(initiator.failures.empty());
    BOOST_TEST(responder.failures.empty());
    BOOST_TEST(violations.empty());
  }
};

const SocketKind kKinds[] = {SocketKind::kMessage, SocketKind::kStream};

}  // namespace recall_test

BOOST_AUTO_TEST_SUITE(recall_test)

BOOST_AUTO_TEST_CASE(a_send_that_no_receive_has_met_comes_back) {
  for (const SocketKind kind : kKinds) {
    Started pair(kind);
    Bytes memory = pattern(100, 1), later = pattern(60, 2), into(60);
    pair.initiator.connection.post_send(normal(memory));
    pair.run();
    const Cancelled cancelled = cancel_sends(pair.initiator);
    BOOST_TEST(cancelled.matched == 1U);
    BOOST_TEST(cancelled.asked == 1U);
    BOOST_TEST(pair.initiator.sends.empty());  // the peer may be reading
    pair.run();
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
    BOOST_TEST(!pair.responder.connection.readiness().receive);
    pair.check_rest();
    // Expect: as if it had never been sent.
    pair.initiator.connection.post_send(normal(later));
    pair.responder.receive(into);
    pair.run();
    BOOST_TEST((into == later));
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED, 0}));
  }
}

BOOST_AUTO_TEST_CASE(every_credit_comes_back_with_its_advert) {
  for (const SocketKind kind : kKinds) {
    Started pair(kind);
    Bytes memory = pattern(100, 1);
    for (int round = 0; round < 5; ++round) {
      for (int i = 0; i < 4; ++i) pair.initiator.connection.post_send(normal(memory));
      pair.run();
      BOOST_TEST(pair.initiator.connection.credits().available() == 0U);
      BOOST_TEST(cancel_sends(pair.initiator).asked == 4U);
      pair.run();
      BOOST_TEST(pair.initiator.sends.size() == 4U * static_cast<unsigned>(round + 1));
    }
    pair.responder.receive(memory);  // which sends what credits are owed with nothing else
    pair.initiator.connection.post_send(normal(memory));
    pair.run();
    BOOST_TEST(pair.initiator.sends.back().outcome.error == 0);
    pair.check_rest();
  }
}

BOOST_AUTO_TEST_CASE(one_among_others_comes_back_before_those_that_were_sent_earlier) {
  for (const SocketKind kind : kKinds) {
    Started pair(kind);
    Bytes first = pattern(50, 1), second = pattern(50, 2), third = pattern(50, 3);
    for (Bytes* memory : {&first, &second, &third}) pair.initiator.connection.post_send(normal(*memory));
    pair.run();
    BOOST_TEST(cancel_sends(pair.initiator, &second).asked == 1U);
    pair.run();
    BOOST_REQUIRE_EQUAL(pair.initiator.sends.size(), 1U);
    BOOST_TEST(pair.initiator.sends[0].operation.tag.handle == &second);
    Bytes into(50), then(50);
    pair.responder.receive(into);
    pair.responder.receive(then);
    pair.run();
    BOOST_TEST((into == first));
    BOOST_TEST((then == third));
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED, 0, 0}));
    pair.check_rest();
  }
}

BOOST_AUTO_TEST_CASE(what_the_peer_has_begun_with_ends_as_it_would_have) {
  for (const SocketKind kind : kKinds) {
    Started pair(kind);
    Bytes memory = pattern(100, 1), into(100);
    pair.responder.receive(into);
    pair.initiator.connection.post_send(normal(memory));
    while (pair.responder.link.deliver_message() || pair.responder.handle_one()) continue;
    BOOST_TEST(pair.responder.link.reads_outstanding() > 0U);
    BOOST_TEST(cancel_sends(pair.initiator).asked == 1U);
    // Expect: the peer says no. Asked again, it counts as begun.
    while (pair.responder.link.deliver_message() || pair.responder.handle_one()) continue;
    while (pair.initiator.link.deliver_message() || pair.initiator.handle_one()) continue;
    BOOST_TEST(cancel_sends(pair.initiator).begun == 1U);
    pair.run();
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{0}));
    BOOST_TEST((into == memory));
    pair.check_rest();
  }
}

BOOST_AUTO_TEST_CASE(a_recall_that_crosses_the_ack_is_too_late) {
  for (const SocketKind kind : kKinds) {
    Started pair(kind);
    Bytes memory = pattern(100, 1), into(100), again(100);
    pair.initiator.connection.post_send(normal(memory));
    pair.run();
    BOOST_TEST(cancel_sends(pair.initiator).asked == 1U);
    pair.responder.receive(into);
    pair.run();
    BOOST_TEST((errors_of(pair.initiator.sends) == Errors{0}));
    BOOST_TEST((into == memory));
    pair.responder.receive(again);
    pair.initiator.connection.post_send(normal(memory));
    pair.run();
    BOOST_TEST((again == memory));
    pair.check_rest();
  }
}

BOOST_AUTO_TEST_CASE(a_list_of_windows_comes_back_with_its_slot) {
  Started pair;
  Bytes one = pattern(30, 1), other = pattern(40, 2);
  const std::vector<exs::LocalSlice> pieces = {{one.data(), one.size(), {}},
                                               {other.data(), other.size(), {}}};
  Operation operation = normal(one);
  operation.memory.length_bytes = 70;
  operation.vector = pieces;
  pair.run();
  const std::size_t posted = pair.responder.link.receives_posted();
  pair.initiator.connection.post_send(operation);
  pair.run();
  BOOST_TEST(cancel_sends(pair.initiator).asked == 1U);
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  BOOST_TEST(pair.responder.link.receives_posted() == posted);
  pair.check_rest();
}

BOOST_AUTO_TEST_CASE(a_send_in_pieces_of_a_stream_has_begun) {
  Started pair(SocketKind::kStream);
  Bytes one = pattern(30, 1), other = pattern(40, 2), into(70);
  const std::vector<exs::LocalSlice> pieces = {{one.data(), one.size(), {}},
                                               {other.data(), other.size(), {}}};
  Operation operation = normal(one);
  operation.memory.length_bytes = 70;
  operation.vector = pieces;
  pair.initiator.connection.post_send(operation);
  pair.run();
  BOOST_TEST(cancel_sends(pair.initiator).begun == 1U);
  pair.responder.receive(into);
  pair.run();
  pair.responder.receive(into);
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{0}));
}

BOOST_AUTO_TEST_CASE(a_close_waits_for_the_answer) {
  for (const SocketKind kind : kKinds) {
    for (const bool both : {false, true}) {
      Started pair(kind);
      Bytes memory = pattern(100, 1);
      pair.initiator.connection.post_send(normal(memory));
      pair.run();
      cancel_sends(pair.initiator);
      pair.initiator.connection.close();
      if (both) pair.responder.connection.close();
      pair.run();
      pair.responder.connection.close();
      pair.run();
      BOOST_TEST(pair.initiator.closed_count == 1);
      BOOST_TEST(pair.responder.closed_count == 1);
      BOOST_TEST(pair.initiator.sends.size() == 1U);
      pair.check_rest();
    }
  }
}

// ---------------------------------------------------------------- peers that lie

BOOST_AUTO_TEST_CASE(a_recall_of_what_never_came_ends_the_connection) {
  const auto forged = Forged::ready();
  forged->hear(advert(1, {0, 10, 1}));
  forged->hear(about_advert(MessageType::kRecall, 2));
  BOOST_TEST(forged->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(a_recall_of_what_is_gone_is_answered) {
  const auto forged = Forged::ready();
  forged->hear(immediate(1), 5);
  for (const std::uint32_t sequence : {1U, 0U, UINT32_MAX}) {
    const std::size_t said = forged->said().size();
    forged->hear(about_advert(MessageType::kRecall, sequence));
    forged->run();
    BOOST_REQUIRE_EQUAL(forged->said().size(), said + 1);
    BOOST_TEST((forged->said(said)[0].header.type == MessageType::kRecallAck));
    BOOST_TEST(forged->said(said)[0].header.flags == 0U);
    BOOST_TEST(forged->said(said)[0].header.sequence == sequence);
  }
  BOOST_TEST(forged->well());
}

BOOST_AUTO_TEST_CASE(an_answer_that_nobody_asked_for_ends_the_connection) {
  for (const std::uint8_t flags : {std::uint8_t{0}, std::uint8_t{exs::wire::kRecalled}}) {
    const auto forged = Forged::ready();
    Bytes memory = pattern(50, 1);
    forged->end.connection.post_send(normal(memory));
    forged->run();
    forged->hear(about_advert(MessageType::kRecallAck, 1, flags));
    BOOST_TEST(forged->lost_to_protocol_error());
  }
}

BOOST_AUTO_TEST_CASE(an_advert_that_comes_back_after_its_ack_ends_the_connection) {
  const auto forged = Forged::ready();
  Bytes memory = pattern(50, 1);
  forged->end.connection.post_send(normal(memory));
  forged->run();
  cancel_sends(forged->end);
  forged->hear(ack(1, 50));
  BOOST_TEST((errors_of(forged->end.sends) == Errors{0}));
  BOOST_TEST(forged->well());
  forged->hear(about_advert(MessageType::kRecallAck, 1, exs::wire::kRecalled));
  BOOST_TEST(forged->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(the_ack_of_an_advert_that_came_back_ends_the_connection) {
  const auto forged = Forged::ready();
  Bytes memory = pattern(50, 1);
  forged->end.connection.post_send(normal(memory));
  forged->run();
  cancel_sends(forged->end);
  forged->hear(about_advert(MessageType::kRecallAck, 1, exs::wire::kRecalled));
  BOOST_TEST((errors_of(forged->end.sends) == Errors{ECANCELED}));
  forged->hear(ack(1, 50));
  BOOST_TEST(forged->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(recalls_go_one_at_a_time) {
  const auto forged = Forged::ready(agreement_of(3, 33, 2));
  Bytes memory = pattern(50, 1);
  for (int i = 0; i < 3; ++i) forged->end.connection.post_send(normal(memory));
  forged->run();
  const std::size_t said = forged->said().size();
  BOOST_TEST(cancel_sends(forged->end).asked == 3U);
  BOOST_TEST(cancel_sends(forged->end).asked == 3U);
  for (const std::uint32_t sequence : {1U, 2U, 3U}) {
    forged->run();
    BOOST_REQUIRE_EQUAL(forged->said().size(), said + sequence);
    BOOST_TEST((forged->said().back().header.type == MessageType::kRecall));
    BOOST_TEST(forged->said().back().header.sequence == sequence);
    forged->hear(about_advert(MessageType::kRecallAck, sequence, exs::wire::kRecalled));
  }
  BOOST_TEST((errors_of(forged->end.sends) == Errors(3, ECANCELED)));
  BOOST_TEST(forged->well());
}

BOOST_AUTO_TEST_SUITE_END()
