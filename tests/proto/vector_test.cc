// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "src/proto/advert.h"
#include "tests/proto/persistent.h"

using namespace exs;
using namespace exs::proto;

namespace vector_test {

// Memory in pieces of these sizes, and an operation on it.
struct InPieces {
  explicit InPieces(const std::vector<std::size_t>& sizes, unsigned seed = 1) {
    for (const std::size_t size : sizes) {
      memories.push_back(pattern(size, seed++));
      whole.insert(whole.end(), memories.back().begin(), memories.back().end());
    }
    for (Bytes& memory : memories) pieces.push_back({memory.data(), memory.size(), {}});
    operation.vector = pieces;
    operation.memory.length_bytes = whole.size();
  }
  [[nodiscard]] Bytes joined() const {
    Bytes all;
    for (const Bytes& memory : memories) all.insert(all.end(), memory.begin(), memory.end());
    return all;
  }
  std::vector<Bytes> memories;
  std::vector<LocalSlice> pieces;
  Bytes whole;
  Operation operation;
};

}  // namespace vector_test

BOOST_AUTO_TEST_SUITE(vector_test)

BOOST_AUTO_TEST_CASE(a_short_vector_is_gathered_and_scattered_by_copies) {
  PersistentPair pair;
  InPieces from({5, 0, 12, 10}), into({1, 20, 0, 30});
  const Bytes before = into.joined();
  pair.send(from.operation);
  pair.receive(into.operation);
  pair.run();
  const Outcome& sent = pair.initiator.sends.at(0).outcome;
  BOOST_TEST(sent.flags == static_cast<unsigned>(kImmediate | kCopied));
  BOOST_TEST(sent.length_bytes == 27U);
  Bytes expected = from.whole;
  expected.insert(expected.end(), before.begin() + 27, before.end());
  BOOST_TEST((into.joined() == expected));
}

BOOST_AUTO_TEST_CASE(a_longer_one_names_its_windows_and_is_read_along_both_lists) {
  PersistentPair pair(agreement_of(4, 200, 2));
  InPieces from({100, 0, 3, 170, 64}), into({7, 250, 0, 80});
  pair.send(from.operation);
  pair.run();
  BOOST_TEST(pair.initiator.link.windows() == 4U);
  pair.receive(into.operation);
  pair.run();
  Bytes all = into.joined();
  BOOST_TEST(std::equal(all.begin(), all.end(), from.whole.begin()));
  BOOST_TEST(pair.initiator.sends.at(0).outcome.length_bytes == 337U);
  BOOST_TEST(pair.initiator.sends.at(0).outcome.flags == 0U);
  BOOST_TEST(pair.initiator.link.windows() == 0U);
  BOOST_TEST(pair.responder.counters.copied_bytes == 0U);
}

BOOST_AUTO_TEST_CASE(a_receive_that_is_shorter_gets_the_first_windows) {
  PersistentPair pair(agreement_of(4, 200, 2));
  InPieces from({100, 3, 170});
  Bytes into(150), none;
  for (int i = 0; i < 2; ++i) pair.send(from.operation);
  pair.receive(operation_on(into));
  pair.receive(operation_on(none));
  pair.run();
  BOOST_TEST(std::equal(into.begin(), into.end(), from.whole.begin()));
  BOOST_TEST((pair.responder.receives.at(0).outcome.flags & kTruncated) != 0U);
  BOOST_TEST(pair.initiator.sends.at(0).outcome.length_bytes == 150U);
  BOOST_TEST(pair.initiator.sends.at(1).outcome.length_bytes == 0U);
  // Expect: slots and credits came back with both.
  BOOST_TEST(pair.responder.link.receives_posted() == link_depths(agreement_of(4, 200, 2)).receives);
}

BOOST_AUTO_TEST_CASE(too_many_pieces_for_a_message_are_copied_once) {
  const Agreement agreement = agreement_of(4, 60, 2);
  const std::size_t most = windows_max(slot_bytes(agreement));
  BOOST_TEST(most == 2U);
  for (const std::size_t count : {most, most + 1}) {
    PersistentPair pair(agreement);
    InPieces from(std::vector<std::size_t>(count, 90));
    Bytes into(from.whole.size());
    pair.send(from.operation);
    BOOST_TEST(pair.initiator.link.windows() == (count > most ? 1U : count));
    pair.receive(operation_on(into));
    pair.run();
    BOOST_TEST((into == from.whole));
    BOOST_TEST(pair.initiator.sends.at(0).outcome.flags == (count > most ? kCopied : 0U));
  }
}

BOOST_AUTO_TEST_CASE(a_vector_that_waits_can_be_refused) {
  PersistentPair pair(agreement_of(4, 200, 2));
  InPieces from({100, 3, 170});
  for (int i = 0; i < 4; ++i) pair.send(from.operation);
  pair.run();
  pair.responder.connection.shutdown_receiving();
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors(4, EPIPE)));
  BOOST_TEST(pair.initiator.link.windows() == 0U);
  pair.close_both();
}

BOOST_AUTO_TEST_CASE(a_window_that_cannot_be_opened_shuts_the_others) {
  PersistentPair pair(agreement_of(4, 200, 2));
  InPieces from({100, 3, 170});
  Bytes into(300);
  pair.initiator.link.fail_call(3, EACCES);
  pair.send(from.operation);
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EACCES}));
  BOOST_TEST(pair.initiator.link.windows() == 0U);
  pair.send(from.operation);
  pair.receive(operation_on(into));
  pair.run();
  BOOST_TEST(std::equal(from.whole.begin(), from.whole.end(), into.begin()));
}

BOOST_AUTO_TEST_CASE(a_vector_goes_into_and_out_of_persistent_memory) {
  PersistentPair pair(agreement_of(4, 200, 2));
  Bytes block(400);
  InPieces from({100, 3, 170}), crossed({100, 101}, 9), into({30, 70});
  pair.send(crossed.operation);
  pair.run();
  pair.receive(persistent_on(block));
  pair.run();
  BOOST_TEST(std::equal(crossed.whole.begin(), crossed.whole.end(), block.begin()));
  pair.send(from.operation);
  pair.run();
  BOOST_TEST(std::equal(from.whole.begin(), from.whole.end(), block.begin()));
  pair.responder.connection.post_send(persistent_on(block));
  pair.run();
  pair.initiator.connection.post_receive(into.operation);
  pair.run();
  Bytes read = into.joined();
  BOOST_TEST(std::equal(read.begin(), read.end(), block.begin()));
}

BOOST_AUTO_TEST_CASE(no_persistent_operation_has_pieces) {
  PersistentPair pair;
  InPieces pieces({10, 20});
  pieces.operation.persistent = true;
  pair.send(pieces.operation);
  pair.receive(pieces.operation);
  pair.run();
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{EINVAL}));
  BOOST_TEST((errors_of(pair.responder.receives) == Errors{EINVAL}));
}

BOOST_AUTO_TEST_CASE(MORE_holds_sends_back_until_one_without_it_or_a_flush) {
  PersistentPair pair;
  Bytes small = pattern(9, 1), into(9);
  Operation more = operation_on(small);
  more.more = true;
  for (int i = 0; i < 3; ++i) pair.receive(operation_on(into));
  pair.send(more);
  pair.run();
  BOOST_TEST(pair.initiator.sends.empty());
  pair.send(operation_on(small));
  pair.run();
  BOOST_TEST(pair.initiator.sends.size() == 2U);
  pair.send(more);
  pair.run();
  BOOST_TEST(pair.initiator.sends.size() == 2U);
  pair.initiator.connection.flush();
  pair.run();
  BOOST_TEST(pair.initiator.sends.size() == 3U);
}

BOOST_AUTO_TEST_CASE(cancel_picks_by_handle_and_spares_what_has_begun) {
  PersistentPair pair(agreement_of(1, 32, 1));
  Bytes large = pattern(90, 1), into(90);
  int mine = 0, other = 0;
  Operation operation = operation_on(large);
  for (void* handle : {&mine, &other, &mine, &other}) {
    operation.tag.handle = handle;
    pair.send(operation);
  }
  operation = operation_on(into);
  for (void* handle : {&mine, &other, &mine}) {
    operation.tag.handle = handle;
    pair.initiator.connection.post_receive(operation);
  }
  const Selection selection{false, &mine, UINT64_MAX};
  Cancelled cancelled = pair.initiator.connection.cancel(Direction::kSend, selection, ECANCELED);
  BOOST_TEST(cancelled.matched == 2U);
  BOOST_TEST(cancelled.asked == 1U);
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED}));
  cancelled = pair.initiator.connection.cancel(Direction::kReceive, selection, ETIMEDOUT);
  BOOST_TEST(cancelled.matched == 2U);
  BOOST_TEST(cancelled.begun == 0U);
  BOOST_TEST((errors_of(pair.initiator.receives) == Errors{ETIMEDOUT, ETIMEDOUT}));
  for (int i = 0; i < 3; ++i) pair.receive(operation_on(into));
  pair.run();
  // Expect: the receives were there before the peer heard that it was to give one back.
  BOOST_TEST((errors_of(pair.initiator.sends) == Errors{ECANCELED, 0, 0, 0}));
}

BOOST_AUTO_TEST_CASE(a_probe_is_answered_at_once_and_asked_once_at_a_time) {
  using wire::MessageType;
  PersistentPair pair;
  const std::size_t before = pair.initiator.link.sent().size();
  for (int i = 0; i < 3; ++i) pair.initiator.connection.probe();
  pair.responder.connection.probe();
  pair.run();
  BOOST_TEST(
      (PersistentPair::said(pair.initiator, before) == Types{MessageType::kProbe, MessageType::kProbeAck}));
  BOOST_TEST((PersistentPair::said(pair.responder, 0) == Types{MessageType::kProbe, MessageType::kProbeAck}));
  pair.initiator.connection.probe();
  pair.run();
  BOOST_TEST(pair.responder.link.sent().size() == 3U);
  // Expect: probes that cross closes do no harm.
  pair.initiator.connection.probe();
  pair.responder.connection.probe();
  pair.close_both();
}

BOOST_AUTO_TEST_SUITE_END()
