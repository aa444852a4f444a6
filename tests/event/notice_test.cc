// Notice: one slot, however often something happens; the event is made when it is taken.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <thread>

#include "event/queue/notice.h"
#include "tests/event/fake_port.h"

namespace exs::test {
namespace notice_test {

struct Fixture : ShardFixture {
  std::shared_ptr<EventQueue> queue = std::make_shared<EventQueue>(3, shard);
  exs_event_t out[8] = {};

  std::shared_ptr<Notice> make() {
    exs_event_t event{};
    event.exs_evt_type = EXS_EVT_PEER_READ;
    event.exs_evt_flags = EXS_EVF_MORE;
    event.exs_evt_socket = 77;
    event.exs_evt_union.exs_evt_xfer.exs_evt_bufsize = 4096;
    return Notice::create(queue, event, nullptr);
  }
  void push_one() {
    BOOST_REQUIRE(queue->reserve());
    queue->push({}, nullptr);
  }
};

}  // namespace notice_test

BOOST_FIXTURE_TEST_SUITE(notice_test, Fixture)

BOOST_AUTO_TEST_CASE(the_first_use_makes_an_event_and_later_ones_add_to_it) {
  const auto notice = make();
  BOOST_TEST(queue->events() == 0U);
  notice->report({.bytes = 100, .last_offset = 8, .transfers = 1});
  BOOST_TEST(queue->events() == 1U);
  notice->report({.bytes = 50, .last_offset = 16, .transfers = 2});
  BOOST_TEST(queue->events() == 1U);
  BOOST_REQUIRE_EQUAL(queue->take(out, 1, 8), 1U);
  BOOST_TEST(out[0].exs_evt_type == EXS_EVT_PEER_READ);
  BOOST_TEST(out[0].exs_evt_flags == static_cast<unsigned>(EXS_EVF_MORE));
  BOOST_TEST(out[0].exs_evt_socket == 77);
  const exs_evt_xfer_t& told = out[0].exs_evt_union.exs_evt_xfer;
  BOOST_TEST(told.exs_evt_bufsize == 4096U);
  BOOST_TEST(told.exs_evt_length == 150U);
  BOOST_TEST(told.exs_evt_count == 3U);
  BOOST_TEST(told.exs_evt_offset == 16U);
  notice->end();
}

BOOST_AUTO_TEST_CASE(each_event_tells_what_came_after_the_one_before) {
  const auto notice = make();
  for (std::uint64_t round = 1; round <= 5; ++round) {
    notice->report({.bytes = round, .last_offset = 0, .transfers = 1});
    BOOST_REQUIRE_EQUAL(queue->take(out, 1, 8), 1U);
    BOOST_TEST(out[0].exs_evt_union.exs_evt_xfer.exs_evt_length == round);
    BOOST_TEST(out[0].exs_evt_union.exs_evt_xfer.exs_evt_count == 1U);
  }
  notice->end();
}

BOOST_AUTO_TEST_CASE(the_slot_stays_taken_until_the_end) {
  const auto notice = make();
  BOOST_TEST(queue->reserved() == 1U);
  notice->report({});
  BOOST_TEST(queue->reserved() == 1U);
  queue->take(out, 1, 8);
  BOOST_TEST(queue->reserved() == 1U);
  notice->end();
  BOOST_TEST(queue->reserved() == 0U);
  notice->end();
  BOOST_TEST(queue->reserved() == 0U);
}

BOOST_AUTO_TEST_CASE(an_event_that_waits_outlives_its_notice) {
  auto notice = make();
  notice->report({.bytes = 9, .last_offset = 0, .transfers = 1});
  notice->end();
  notice.reset();
  BOOST_TEST(queue->reserved() == 1U);
  BOOST_REQUIRE_EQUAL(queue->take(out, 1, 8), 1U);
  BOOST_TEST(out[0].exs_evt_union.exs_evt_xfer.exs_evt_length == 9U);
  BOOST_TEST(queue->reserved() == 0U);
}

BOOST_AUTO_TEST_CASE(a_full_queue_has_no_room_for_a_notice) {
  for (int i = 0; i < 3; ++i) BOOST_REQUIRE(queue->reserve());
  BOOST_TEST(make() == nullptr);
  BOOST_TEST(queue->reserved() == 3U);
  queue->cancel_reservation();
  const auto notice = make();
  BOOST_REQUIRE(notice);
  BOOST_TEST(!queue->reserve());
  notice->end();
}

BOOST_AUTO_TEST_CASE(an_event_keeps_its_place_among_the_others) {
  const auto notice = make();
  push_one();
  notice->report({});
  push_one();
  notice->report({});
  BOOST_REQUIRE_EQUAL(queue->take(out, 1, 8), 3U);
  BOOST_TEST(out[0].exs_evt_type == EXS_EVT_NONE);
  BOOST_TEST(out[1].exs_evt_type == EXS_EVT_PEER_READ);
  BOOST_TEST(out[2].exs_evt_type == EXS_EVT_NONE);
  BOOST_TEST(queue->reserved() == 1U);
  notice->end();
}

BOOST_AUTO_TEST_CASE(a_queue_with_a_notice_is_busy) {
  const auto notice = make();
  notice->report({});
  BOOST_TEST((queue->close(false) == Status(EBUSY)));
  notice->end();
  BOOST_TEST(queue->close(false).ok());
  BOOST_TEST(queue->reserved() == 0U);
}

BOOST_AUTO_TEST_CASE(a_forced_close_leaves_the_notice_its_slot) {
  const auto notice = make();
  notice->report({});
  BOOST_TEST(queue->close(true).ok());
  BOOST_TEST(queue->reserved() == 1U);
  notice->report({});
  notice->end();
  BOOST_TEST(queue->events() == 1U);
}

BOOST_AUTO_TEST_CASE(the_count_does_not_wrap) {
  const auto notice = make();
  notice->report({.bytes = 1, .last_offset = 0, .transfers = UINT32_MAX});
  notice->report({.bytes = 1, .last_offset = 0, .transfers = 5});
  BOOST_REQUIRE_EQUAL(queue->take(out, 1, 8), 1U);
  BOOST_TEST(out[0].exs_evt_union.exs_evt_xfer.exs_evt_count == UINT32_MAX);
  notice->end();
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_or_told_twice_while_another_thread_takes) {
  constexpr std::uint64_t kUses = 20'000;
  const auto notice = make();
  std::atomic<bool> ended{false};
  std::thread taker([&] {
    std::uint64_t bytes = 0;
    std::uint64_t transfers = 0;
    exs_event_t event{};
    for (bool last = false; !last;) {
      last = ended;
      while (queue->take(&event, 1, 1) == 1) {
        bytes += event.exs_evt_union.exs_evt_xfer.exs_evt_length;
        transfers += event.exs_evt_union.exs_evt_xfer.exs_evt_count;
      }
    }
    BOOST_TEST(bytes == kUses * 3);
    BOOST_TEST(transfers == kUses);
  });
  for (std::uint64_t i = 0; i < kUses; ++i) notice->report({.bytes = 3, .last_offset = i, .transfers = 1});
  notice->end();
  ended = true;
  taker.join();
  BOOST_TEST(queue->reserved() == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
