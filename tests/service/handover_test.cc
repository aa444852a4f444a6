// What moves with a service, as bytes: round trips, and bytes of anybody.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <vector>

#include "service/names/key.h"
#include "service/wire/handover.h"
#include "tests/support/property.h"

using namespace exs::svc;

namespace handover_test {

using FrameBytes = std::vector<std::uint8_t>;

bool same(Bytes a, Bytes b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

FrameBytes drawn_bytes(std::size_t most) {
  return FrameBytes(exs::test::draw_index(most), exs::test::draw<std::uint8_t>());
}

// Owns what the handover points to.
struct Sample {
  std::vector<FrameBytes> memory;
  Handover handover;

  Sample() {
    memory.reserve(4096);
    for (std::size_t i = exs::test::draw_index(4); i-- > 0;) handover.flows.push_back(flow());
    for (std::size_t i = exs::test::draw_index(4); i-- > 0;) handover.messages.push_back(message());
  }
  Bytes keep(FrameBytes bytes) { return memory.emplace_back(std::move(bytes)); }
  Bytes reply() {
    Data data;
    data.kind = kIsReply;
    data.call = exs::test::draw<std::uint64_t>();
    data.items.item[0] = keep(drawn_bytes(100));
    data.items.count = 1;
    std::array<std::uint8_t, kFrameMax> room;
    const Encoded frame = encode_data(room, 7, 3, data);
    return keep({frame.begin(), frame.end()});
  }
  MovedFlow flow() {
    MovedFlow flow;
    flow.client = exs::test::draw<std::uint64_t>();
    flow.flow_number = exs::test::draw<std::uint64_t>();
    flow.from.fill(exs::test::draw<std::uint8_t>());
    flow.accepted = exs::test::draw<std::uint64_t>();
    flow.calls.resize(exs::test::draw_index(20), exs::test::draw<std::uint64_t>());
    flow.first_reply = exs::test::draw<std::uint64_t>() | 1U;
    for (std::size_t i = exs::test::draw_index(4); i-- > 0;) flow.replies.push_back(reply());
    return flow;
  }
  MovedMessage message() {
    MovedMessage message;
    message.from.fill(exs::test::draw<std::uint8_t>());
    message.is_request = exs::test::draw_bool();
    if (message.is_request) {
      message.client = exs::test::draw<std::uint64_t>();
      message.flow_number = exs::test::draw<std::uint64_t>();
      message.call = exs::test::draw<std::uint64_t>();
      message.limit_ns = exs::test::draw<std::int64_t>(0, INT64_MAX);
    }
    message.items.count = exs::test::draw_index(kItemsMax + 1);
    for (std::size_t i = 0; i < message.items.count; ++i) message.items.item[i] = keep(drawn_bytes(50));
    for (std::size_t i = exs::test::draw_index(kItemsMax + 1); i-- > 0;)
      message.longs.push_back(keep(drawn_bytes(200)));
    return message;
  }
};

void hold_same(const MovedFlow& a, const MovedFlow& b) {
  EXS_HOLD(a.client == b.client && a.flow_number == b.flow_number && a.from == b.from);
  EXS_HOLD(a.accepted == b.accepted && a.calls == b.calls && a.first_reply == b.first_reply);
  EXS_HOLD(std::equal(a.replies.begin(), a.replies.end(), b.replies.begin(), b.replies.end(), same));
}

void hold_same(const MovedMessage& a, const MovedMessage& b) {
  EXS_HOLD(a.from == b.from && a.is_request == b.is_request && a.limit_ns == b.limit_ns);
  EXS_HOLD(a.client == b.client && a.flow_number == b.flow_number && a.call == b.call);
  EXS_HOLD(a.items.count == b.items.count);
  for (std::size_t i = 0; i < a.items.count; ++i) EXS_HOLD(same(a.items.item[i], b.items.item[i]));
  EXS_HOLD(std::equal(a.longs.begin(), a.longs.end(), b.longs.begin(), b.longs.end(), same));
}

}  // namespace handover_test

BOOST_AUTO_TEST_SUITE(handover_test)

BOOST_AUTO_TEST_CASE(what_moves_comes_back_as_it_was) {
  BOOST_TEST(exs::test::holds("a handover's round trip", [] {
    const Sample sample;
    const std::vector<std::uint8_t> bytes = encode_handover(sample.handover);
    const std::optional<Handover> read = decode_handover(bytes);
    EXS_HOLD(read.has_value());
    EXS_HOLD(read->flows.size() == sample.handover.flows.size());
    EXS_HOLD(read->messages.size() == sample.handover.messages.size());
    for (std::size_t i = 0; i < read->flows.size(); ++i) hold_same(read->flows[i], sample.handover.flows[i]);
    for (std::size_t i = 0; i < read->messages.size(); ++i)
      hold_same(read->messages[i], sample.handover.messages[i]);
    // Expect: with a byte more or less it is none.
    EXS_HOLD(!decode_handover(Bytes(bytes).first(bytes.size() - 1)).has_value());
    FrameBytes longer(bytes);
    longer.push_back(0);
    EXS_HOLD(!decode_handover(longer).has_value());
  }));
}

BOOST_AUTO_TEST_CASE(bytes_of_anybody_are_none_or_end_where_they_end) {
  BOOST_TEST(exs::test::holds("hostile handovers", [] {
    FrameBytes bytes = encode_handover(Sample().handover);
    for (std::size_t changes = exs::test::draw_index(4); changes-- > 0;)
      bytes[exs::test::draw_index(bytes.size())] = exs::test::draw<std::uint8_t>();
    if (exs::test::draw_bool()) bytes.resize(exs::test::draw<std::size_t>(0, bytes.size() + 9));
    bytes.shrink_to_fit();
    if (const std::optional<Handover> read = decode_handover(bytes))
      EXS_HOLD(encode_handover(*read) == bytes);
  }));
}

BOOST_AUTO_TEST_CASE(a_head_comes_back_as_it_was) {
  const HandoverHead head{HandoverStep::kCommit, 5, 6, 7};
  std::array<std::uint8_t, kHandoverHeadBytes> bytes = encode_handover_head(head);
  const std::array<std::uint8_t, kHandoverHeadBytes> expected = {
      'E', 'X', 'S', 'H', 2, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7};
  BOOST_TEST(bytes == expected, boost::test_tools::per_element());
  const std::optional<HandoverHead> read = decode_handover_head(bytes);
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST((read->step == head.step && read->token == 5U && read->instance == 6U && read->epoch == 7U));
  // Expect: none of another length, of another magic, of a step that there is not, or without an instance.
  BOOST_TEST(!decode_handover_head(Bytes(bytes).first(bytes.size() - 1)).has_value());
  for (const auto& [at, value] :
       {std::pair{0U, 'X'}, std::pair{4U, '\0'}, std::pair{4U, '\3'}, std::pair{20U, '\0'}}) {
    auto other = bytes;
    other[at] = static_cast<std::uint8_t>(value);
    BOOST_TEST(!decode_handover_head(other).has_value(), at);
  }
}

// As another implementation of BLAKE2b says.
BOOST_AUTO_TEST_CASE(the_key_of_a_door_follows_from_that_of_the_service) {
  std::array<std::uint8_t, Key::kSeedBytes> seed{};
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::uint8_t>(i);
  const std::array<std::uint8_t, Key::kSeedBytes> endpoint = {
      0xd0, 0x59, 0x45, 0x25, 0x98, 0xa2, 0xce, 0x80, 0xb5, 0x8b, 0x1a, 0xcf, 0xbe, 0x65, 0xea, 0xec,
      0x09, 0xb9, 0xfc, 0xe0, 0x6d, 0x3b, 0xa3, 0x83, 0x4c, 0x8a, 0x34, 0x72, 0x18, 0x0f, 0x53, 0x2c};
  BOOST_TEST((adoption_key(Key(seed)).id() == Key(endpoint).id()));
}

BOOST_AUTO_TEST_SUITE_END()
