// Bursts: who hears of the end of a burst, and when the engine must end one.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <functional>

#include "event/engine/bursts.h"

namespace exs::test {
namespace bursts_test {

struct Member : BurstClient {
  void burst_ended() override {
    ++ended;
    if (then) then();
  }
  int ended = 0;
  std::function<void()> then;
};

struct Fixture {
  Bursts bursts;
  Member first;
  Member second;
};

}  // namespace bursts_test

BOOST_FIXTURE_TEST_SUITE(bursts_test, Fixture)

BOOST_AUTO_TEST_CASE(each_member_hears_of_the_end_once) {
  BOOST_TEST(!bursts.end());
  bursts.join(first);
  bursts.join(second);
  BOOST_TEST(bursts.end());
  BOOST_TEST(!bursts.end());
  BOOST_TEST(first.ended == 1);
  BOOST_TEST(second.ended == 1);
}

BOOST_AUTO_TEST_CASE(who_leaves_hears_nothing_not_even_while_the_burst_ends) {
  bursts.join(first);
  bursts.leave(first);
  BOOST_TEST(!bursts.end());
  bursts.join(first);
  bursts.join(second);
  first.then = [&] { bursts.leave(second); };
  BOOST_TEST(bursts.end());
  BOOST_TEST(first.ended == 1);
  BOOST_TEST(second.ended == 0);
}

BOOST_AUTO_TEST_CASE(who_joins_while_a_burst_ends_is_in_the_next_one) {
  bursts.join(first);
  first.then = [&] { bursts.join(second); };
  BOOST_TEST(bursts.end());
  BOOST_TEST(second.ended == 0);
  first.then = nullptr;
  BOOST_TEST(bursts.end());
  BOOST_TEST(second.ended == 1);
}

BOOST_AUTO_TEST_CASE(only_the_first_to_hold_bytes_back_in_a_burst_sets_the_alarm) {
  BOOST_TEST(!bursts.holds_bytes());
  bursts.join(first);
  BOOST_TEST(bursts.hold_bytes());
  BOOST_TEST(!bursts.hold_bytes());
  BOOST_TEST(bursts.holds_bytes());
  bursts.end();
  BOOST_TEST(!bursts.holds_bytes());
  bursts.join(first);
  BOOST_TEST(bursts.hold_bytes());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
