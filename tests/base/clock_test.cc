// Times and their limits.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/clock.h"

#include <boost/test/unit_test.hpp>

using namespace exs;

BOOST_AUTO_TEST_SUITE(clock_test)

BOOST_AUTO_TEST_CASE(nanoseconds_become_a_timespec_and_come_back) {
  const timespec time = to_timespec(3 * kNsPerSecond + 5);
  BOOST_TEST(time.tv_sec == 3);
  BOOST_TEST(time.tv_nsec == 5);
  BOOST_TEST(to_ns(time) == 3 * kNsPerSecond + 5);
  BOOST_TEST(to_timespec(kNsPerSecond).tv_nsec == 0);
}

BOOST_AUTO_TEST_CASE(clocks_do_not_go_back) {
  const std::uint64_t before_ns = monotonic_ns();
  BOOST_TEST(monotonic_ns() >= before_ns);
  BOOST_TEST(boottime_ns() >= before_ns);
  // Later than the day when this was written.
  BOOST_TEST(since_1970_ms() > 1'700'000'000'000U);
  BOOST_TEST(since_1970_ms() < 17'000'000'000'000U);
}

BOOST_AUTO_TEST_CASE(a_time_that_is_too_late_for_the_type_never_comes) {
  BOOST_TEST(time_after(10, 5) == 15U);
  BOOST_TEST(time_after(10, kNeverNs - 10) == kNeverNs);
  BOOST_TEST(time_after(10, kNeverNs - 11) == kNeverNs - 1);
  BOOST_TEST(time_after(10, kNeverNs - 9) == kNeverNs);
  BOOST_TEST(time_after(10, kNeverNs) == kNeverNs);
}

BOOST_AUTO_TEST_CASE(a_negative_limit_is_none) {
  BOOST_TEST(limit_after(10, -1) == kNeverNs);
  BOOST_TEST(limit_after(10, 0) == 10U);
  BOOST_TEST(limit_after(10, 7) == 17U);
}

BOOST_AUTO_TEST_CASE(what_is_over_has_no_time_left) {
  BOOST_TEST(time_left(10, 7) == 3U);
  BOOST_TEST(time_left(10, 10) == 0U);
  BOOST_TEST(time_left(10, 11) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
