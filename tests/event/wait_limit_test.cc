// The limit of a wait: a moment, or a while that sleeping uses up.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "event/engine/wait_limit.h"

namespace exs::test {

BOOST_AUTO_TEST_SUITE(wait_limit_test)

BOOST_AUTO_TEST_CASE(a_moment_comes_nearer_with_the_clock_alone) {
  auto limit = WaitLimit::until(100);
  BOOST_TEST(limit.is_moment());
  limit.slept(30);
  BOOST_TEST(limit.left_ns(40) == 60U);
  BOOST_TEST(limit.left_ns(100) == 0U);
  BOOST_TEST(limit.left_ns(200) == 0U);
  BOOST_TEST(limit.fix(1000) == 100U);
}

BOOST_AUTO_TEST_CASE(a_while_is_used_up_by_sleep_alone) {
  auto limit = WaitLimit::lasting(100);
  BOOST_TEST(!limit.is_moment());
  BOOST_TEST(limit.left_ns(1'000'000) == 100U);
  limit.slept(30);
  BOOST_TEST(limit.left_ns(0) == 70U);
  limit.slept(71);
  BOOST_TEST(limit.left_ns(0) == 0U);
  BOOST_TEST(!limit.is_none());
}

BOOST_AUTO_TEST_CASE(what_is_left_of_a_while_becomes_a_moment) {
  auto limit = WaitLimit::lasting(100);
  limit.slept(30);
  BOOST_TEST(limit.fix(1000) == 1070U);
  BOOST_TEST(limit.is_moment());
  limit.slept(70);
  BOOST_TEST(limit.left_ns(1060) == 10U);
  BOOST_TEST(limit.fix(5000) == 1070U);
}

BOOST_AUTO_TEST_CASE(no_limit_needs_no_clock) {
  for (auto limit : {WaitLimit::until(kNoDeadline), WaitLimit::lasting(kNoDeadline)}) {
    BOOST_TEST(limit.is_none());
    BOOST_TEST(!limit.is_moment());
    limit.slept(100);
    BOOST_TEST(limit.fix(100) == kNoDeadline);
    BOOST_TEST(limit.left_ns(100) == kNoDeadline);
  }
}

BOOST_AUTO_TEST_CASE(a_while_beyond_the_clock_is_no_limit) {
  auto limit = WaitLimit::lasting(kNoDeadline - 10);
  BOOST_TEST(limit.fix(11) == kNoDeadline);
  BOOST_TEST(limit.is_none());
}

BOOST_AUTO_TEST_CASE(centuries_are_no_limit) {
  constexpr std::uint64_t kCenturies = std::uint64_t{1} << 63;
  BOOST_TEST(WaitLimit::lasting(kCenturies).is_none());
  BOOST_TEST(WaitLimit::until(kCenturies).is_none());
  auto limit = WaitLimit::lasting(kCenturies - 2);
  BOOST_TEST(limit.left_ns(5) == kCenturies - 2);
  BOOST_TEST(limit.fix(1) == kCenturies - 1);
  BOOST_TEST(limit.is_moment());
}

BOOST_AUTO_TEST_CASE(no_time_has_passed_at_once) {
  BOOST_TEST(WaitLimit::lasting(0).has_passed());
  BOOST_TEST(!WaitLimit::lasting(1).has_passed());
  BOOST_TEST(!WaitLimit::until(1).has_passed());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
