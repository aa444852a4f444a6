// Strangers whose flow is open: requests, long items and lanes that are not as they must be.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/service/liar.h"

namespace exs::svc {
namespace long_lies_test {

using namespace exs::svc::test;

Hello bulk_hello(const Liar& link) {
  return {kProtocolVersion, bulk_token({link.our_nonce, link.their_nonce}), true};
}
Hello own_lane_hello(const Liar& link) {
  return lane_hello(lane_token({link.our_nonce, link.their_nonce}, 1), 1);
}

// A liar whose flow is open, and a second connection that belongs to its link.
class LiarWithSecond {
 public:
  LiarWithSecond(const Served& served, Hello (*hello_for)(const Liar& link)) : link(served.opened()) {
    const Hello hello = hello_for(*link);
    greeting = greeting_of(hello);
    second = served.stranger();
    second->say(greeting);
    BOOST_REQUIRE(second->hear().has_value());  // as whoever accepts greets
    BOOST_REQUIRE(second->hear().has_value());
    const std::optional<Hello> theirs = decode_hello(second->heard());
    BOOST_REQUIRE(theirs.has_value());
    BOOST_TEST((theirs->nonce == hello.nonce && theirs->is_of_bulk == hello.is_of_bulk &&
                theirs->is_of_lane == hello.is_of_lane));
  }
  std::unique_ptr<Liar> link;
  Frame greeting;
  std::unique_ptr<Liar> second;
};
struct LiarWithBulk : LiarWithSecond {
  explicit LiarWithBulk(const Served& served) : LiarWithSecond(served, bulk_hello) {}
};
struct LiarWithLane : LiarWithSecond {
  explicit LiarWithLane(const Served& served) : LiarWithSecond(served, own_lane_hello) {}
  // Whose reply may lie there.
  void ask(ReturnSlot slot) const {
    Data data = data_of_kind(kIsRequest, 1);
    data.returns = {slot};
    link->say(frame_with(data));
  }
};

}  // namespace long_lies_test

BOOST_AUTO_TEST_SUITE(long_lies_test)

BOOST_FIXTURE_TEST_CASE(requests_and_replies_out_of_turn_end_the_link, Served) {
  check_ends_after(frame_with(data_of_kind(kIsReply, 1)));
  Frame early = frame_with({});
  renumber(early, 1, 1, 5);  // five replies are done, which nobody has sent
  check_ends_after(early);
  Frame cancel = bare_frame(FrameType::kCancel);
  cancel.push_back(0);
  check_ends_after(cancel);
  // Expect: no request is asked again before it is answered.
  answers = false;
  const std::unique_ptr<Liar> liar = asking();
  for (std::uint64_t number = 1; number <= 2; ++number)
    liar->say(frame_with(data_of_kind(kIsRequest, 7), number));
  while (liar->hear()) continue;
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(a_request_that_nobody_has_asked_is_not_cancelled, Served) {
  const std::unique_ptr<Liar> liar = asking();
  liar->say(bare_frame(FrameType::kCancel));
  liar->say(frame_with({}));
  BOOST_REQUIRE((liar->hear()->type == FrameType::kFlowOk));
  BOOST_REQUIRE((liar->hear()->type == FrameType::kAck));
}

BOOST_FIXTURE_TEST_CASE(long_items_without_a_bulk_end_the_link, Served) {
  check_ends_after(frame_with(with_long_item(10)));
}

BOOST_FIXTURE_TEST_CASE(a_bulk_of_no_link_is_hung_up_on, Served) {
  check_ends_after(greeting_of({kProtocolVersion, {}, true}), false);
  // Expect: nor is there a second one.
  const LiarWithBulk liar(*this);
  check_ends_after(liar.greeting, false);
}

BOOST_FIXTURE_TEST_CASE(long_items_of_another_length_end_the_link, Served) {
  for (const int flags : {0, EXS_NO_IMMEDIATE}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{9}, std::size_t{11}, std::size_t{100'000}}) {
      const LiarWithBulk liar(*this);
      liar.link->say(frame_with(with_long_item(10)));
      const Frame item(bytes, 1);
      exs_send_sync(liar.second->socket(), item.data(), item.size(), flags, EXS_MHANDLE_UNREGISTERED);
      while (liar.link->hear()) continue;
      check_serves();
    }
  }
}

BOOST_FIXTURE_TEST_CASE(a_bulk_that_ends_takes_its_link_along, Served) {
  LiarWithBulk liar(*this);
  liar.link->say(frame_with(with_long_item(10)));
  liar.second.reset();
  while (liar.link->hear()) continue;
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(no_more_than_sixty_four_wait_for_long_items_that_never_come, Served) {
  const LiarWithBulk liar(*this);
  liar.link->say(frame_with(with_long_item(10)));
  for (std::uint64_t number = 2; number <= 64; ++number) liar.link->say(frame_with({}, number));
  check_serves();
  liar.link->say(frame_with({}, 65));
  while (liar.link->hear()) continue;
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(long_items_that_never_come_end_the_link, Served) {
  const LiarWithBulk liar(*this);
  liar.link->say(frame_with(with_long_item(10)));
  while (liar.link->hear()) continue;
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(a_lane_of_no_flow_is_hung_up_on, Served) {
  check_ends_after(greeting_of(lane_hello({}, 1)), false);
  // Expect: nor is there a second one, or that of another flow.
  const LiarWithLane liar(*this);
  check_ends_after(liar.greeting, false);
  const Nonce other = lane_token({liar.link->our_nonce, liar.link->their_nonce}, 2);
  check_ends_after(greeting_of(lane_hello(other, 2)), false);
}

BOOST_FIXTURE_TEST_CASE(replies_are_written_into_memory_that_is_named_and_there, Served) {
  std::array<char, 8192> memory{};
  const Queue queue;
  {
    const LiarWithLane liar(*this);
    const exs_mhandle_t region = exs_mregister(memory.data(), memory.size(), 0);
    BOOST_REQUIRE(exs_recv(liar.second->socket(), memory.data(), memory.size(), EXS_PERSISTENT | EXS_NOTIFY,
                           queue.handle, nullptr, region) == 0);
    liar.ask({100, 5000});
    BOOST_TEST(queue.wait().exs_evt_type == EXS_EVT_PEER_WRITE);
    const std::optional<Header> header = liar.link->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kData));
    const std::optional<Data> said = decode_data(liar.link->heard(), *header);
    BOOST_REQUIRE((said && said->lane_count == std::uint64_t{1} && said->longs.bytes[0] == 5000));
    BOOST_TEST((std::string(memory.data() + 100, 5000) == answer));
    BOOST_TEST((memory[99] == 0 && memory[5100] == 0));
    // Expect: whoever names what is not there is left.
    Data data = data_of_kind(kIsRequest, 2);
    data.returns = {{3193, 5000}};
    liar.link->say(frame_with(data, 2));
    while (liar.link->hear()) continue;
  }
  BOOST_TEST(queue.wait().exs_evt_type == EXS_EVT_RECV);
  BOOST_TEST(memory[8191] == 0);
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(what_comes_on_a_lane_ends_it_and_the_flow_goes_on, Served) {
  LiarWithLane liar(*this);
  liar.second->say(liar.greeting);
  while (liar.second->hear()) continue;
  liar.link->say(frame_with({}));
  BOOST_REQUIRE((liar.link->hear()->type == FrameType::kAck));
  // Expect: nor does a lane that takes nothing keep others from anything.
  const LiarWithLane idle(*this);
  idle.ask({0, 5000});
  check_serves();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
