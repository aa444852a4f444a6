// Strangers who connect to a node, and do not keep to the protocol.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/service/liar.h"

namespace exs::svc {
using namespace exs::svc::test;

BOOST_AUTO_TEST_SUITE(lies_test)

BOOST_FIXTURE_TEST_CASE(what_is_no_frame_ends_the_link, Served) {
  check_ends_after({}, false);
  check_ends_after({1}, false);
  check_ends_after(Frame(kHeaderBytes, 0), false);
  check_ends_after(Frame(kFrameMax, 0xff), false);
  check_ends_after(Frame(kHeaderBytes, 0xff));
  check_ends_after(Frame(5, 0));
}

BOOST_FIXTURE_TEST_CASE(a_greeting_of_another_kind_ends_the_link, Served) {
  check_ends_after(greeting_of({2, {}}), false);
  check_ends_after(flow(1), false);
  Frame hello = greeting_of({});
  hello[kHeaderBytes] ^= 1;
  check_ends_after(hello, false);
}

BOOST_FIXTURE_TEST_CASE(who_would_fill_more_memory_than_a_links_frames_is_hung_up_on, Served) {
  const std::unique_ptr<Liar> greedy = Liar::trying(address, 16384, 64);
  BOOST_TEST(!(greedy && greedy->hear()));  // not even greeted
  const std::unique_ptr<Liar> modest = Liar::trying(address, 16384, 8);
  BOOST_REQUIRE(modest != nullptr);
  modest->greet();
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(who_never_greets_is_hung_up_on, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  while (liar->hear()) continue;  // its greeting, and the end
}

BOOST_FIXTURE_TEST_CASE(frames_out_of_turn_end_the_link, Served) {
  check_ends_after(flow(1));     // that number is taken
  check_ends_after(data(1, 2));  // the first is left out
  check_ends_after(
      frame_of([](auto room) { return encode_bare(room, {.type = FrameType::kAck, .flow = 1, .ack = 1}); }));
  check_ends_after(
      frame_of([](auto room) { return encode_bare(room, {.type = FrameType::kPong, .flow = 1}); }));
  Frame ping = frame_of([](auto room) { return encode_bare(room, {.type = FrameType::kPing, .flow = 1}); });
  ping.push_back(0);
  check_ends_after(ping);
  Frame items = data(1, 1);
  items[3] = 17;
  check_ends_after(items);
  Frame open = flow(2);
  open.pop_back();
  check_ends_after(open);
}

// The end of the first link comes when the flow is another's.
BOOST_FIXTURE_TEST_CASE(a_flow_that_a_lie_ends_may_be_opened_at_once, Served) {
  std::uint64_t instance = 0;
  {
    const std::unique_ptr<Liar> first = opened();
    instance = decode_flow_ok(first->heard(), *decode_header(first->heard()))->instance;
  }
  const Frame lie = frame_of([&](auto room) {
    return encode_flow(room, 1, {target, 1, 1, instance, {}, {}}, 5);
  });
  for (int round = 0; round < 50; ++round) {
    const std::unique_ptr<Liar> liar = stranger();
    const std::unique_ptr<Liar> other = stranger();
    liar->greet();
    other->greet();
    liar->say(lie);
    other->say(flow(1));
    const std::optional<Header> header = other->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kFlowOk));
    while (liar->hear()) continue;
    // Nobody answers where the lie came last.
    other->say(bare_frame(FrameType::kPing));
  }
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(frames_of_flows_that_are_not_open_mean_nothing, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  liar->say(data(3, 1));
  liar->say(flow(1));
  const std::optional<Header> header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowOk && header->flow == 1));
}

BOOST_FIXTURE_TEST_CASE(a_message_that_comes_again_is_taken_once, Served) {
  const std::unique_ptr<Liar> liar = opened();
  for (int i = 0; i < 3; ++i) {
    liar->say(data(1, 1));
    const std::optional<Header> ack = liar->hear();
    BOOST_REQUIRE((ack && ack->type == FrameType::kAck));
    BOOST_TEST(ack->ack == 1U);
  }
}

BOOST_FIXTURE_TEST_CASE(nobody_sends_in_the_name_of_another, Served) {
  const Key theirs;
  const Key ours;
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  Flow asked{target, 1, 1, 0, {}, {}};
  asked.sender = Sender{theirs.public_key(), ours.sign({})};
  liar->say(frame_of([&](auto room) { return encode_flow(room, 1, asked); }));
  std::optional<Header> header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
  BOOST_TEST((decode_flow_no(liar->heard())->why == Refusal::kNotAllowed));
  // Expect: nor with what another has shown on another link.
  asked.sender = Sender{theirs.public_key(), theirs.sign({})};
  liar->say(frame_of([&](auto room) { return encode_flow(room, 2, asked); }));
  header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
}

BOOST_FIXTURE_TEST_CASE(a_flow_is_of_who_has_opened_it, Served) {
  const std::unique_ptr<Liar> first = opened();
  // Expect: its numbers are of no use to another, who shows rightly who it is.
  const Key other;
  const std::unique_ptr<Liar> second = stranger();
  second->greet();
  Flow asked{target, 1, 1, 0, {}, {}};
  const Statement about = flow_statement({second->our_nonce, second->their_nonce}, 1, target, 1, 1);
  asked.sender = Sender{other.public_key(), other.sign(about)};
  second->say(frame_of([&](auto room) { return encode_flow(room, 1, asked); }));
  std::optional<Header> header = second->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
  // Expect: with numbers of its own it is served.
  asked.flow_number = 2;
  asked.sender->signature =
      other.sign(flow_statement({second->our_nonce, second->their_nonce}, 2, target, 1, 2));
  second->say(frame_of([&](auto room) { return encode_flow(room, 2, asked); }));
  header = second->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowOk));
}

BOOST_FIXTURE_TEST_CASE(a_service_that_is_not_here_is_nobody, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  liar->say(frame_of([&](auto room) { return encode_flow(room, 1, {IdBytes{1}, 1, 1, 0, {}, {}}); }));
  const std::optional<Header> header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
  BOOST_TEST((decode_flow_no(liar->heard())->why == Refusal::kNobody));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
