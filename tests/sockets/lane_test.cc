// The lane, in every order of the steps of its two ends.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cstdint>

#include "tests/sockets/lane_world.h"

namespace lane_test {

using exs::test::lane_world::Explorer;
using exs::test::lane_world::Sizes;

// Each step throws, which is slow with sanitizers. They send two bytes less; release sends all.
#if defined(EXS_SANITIZED_address_undefined) || defined(EXS_SANITIZED_thread)
constexpr std::uint8_t kLeftOut = 2;
#else
constexpr std::uint8_t kLeftOut = 0;
#endif

void explore(Sizes sizes) {
  sizes.items = static_cast<std::uint8_t>(sizes.items - kLeftOut);
  constexpr std::size_t kMomentsMax = 3'000'000;
  const Explorer::Result result = Explorer(sizes).run(kMomentsMax);
  BOOST_TEST_MESSAGE(result.moments << " moments, " << result.ends << " ends");
  BOOST_TEST(result.complaint == "");
  BOOST_TEST(result.hopeless == 0U);
  BOOST_TEST(result.ends > 0U);
  BOOST_TEST(result.moments < kMomentsMax);
  BOOST_TEST(result.used_ring);
  // Bytes that do not fit into the ring turn to TCP. The next stretch may begin once the ring has been read.
  BOOST_TEST(result.turned == (sizes.items > sizes.ring));
}

}  // namespace lane_test

BOOST_AUTO_TEST_SUITE(lane_test)

BOOST_AUTO_TEST_CASE(no_wake_up_is_lost_and_no_bell_is_read) {
  explore({.items = 4, .ring = 4, .tcp = 3});
}

BOOST_AUTO_TEST_CASE(turns_keep_the_order) {
  explore({.items = 5, .ring = 1, .tcp = 3});
  explore({.items = 5, .ring = 2, .tcp = 3});
}

BOOST_AUTO_TEST_CASE(turns_keep_the_order_of_several_bytes_at_a_time) {
  explore({.items = 5, .ring = 2, .tcp = 4, .at_a_time = 2});
}

BOOST_AUTO_TEST_CASE(a_receiver_leaves_at_any_moment) {
  explore({.items = 4, .ring = 4, .tcp = 8, .may_detach = true});
  explore({.items = 4, .ring = 1, .tcp = 8, .may_detach = true});
}

BOOST_AUTO_TEST_CASE(a_receiver_leaves_at_any_moment_and_resends_what_is_unread) {
  explore({.items = 4, .ring = 4, .tcp = 8, .may_detach = true, .may_return = true});
  explore({.items = 4, .ring = 1, .tcp = 8, .may_detach = true, .may_return = true});
  explore({.items = 3, .ring = 2, .tcp = 8, .may_detach = true, .may_return = true, .may_look = true});
}

BOOST_AUTO_TEST_CASE(a_receiver_leaves_at_any_moment_and_takes_along_what_is_unread) {
  explore({.items = 4, .ring = 4, .tcp = 8, .may_take = true});
  explore({.items = 4, .ring = 1, .tcp = 8, .may_take = true});
  explore({.items = 3, .ring = 2, .tcp = 8, .may_take = true, .may_look = true});
}

BOOST_AUTO_TEST_CASE(a_receiver_looks_by_itself_for_a_while) {
  explore({.items = 4, .ring = 2, .tcp = 4, .may_look = true});
}

BOOST_AUTO_TEST_CASE(each_put_rings_for_a_receiver_that_is_told_of_edges) {
  explore({.items = 4, .ring = 4, .tcp = 5, .wants_each = true});
  explore({.items = 5, .ring = 2, .tcp = 4, .at_a_time = 2, .wants_each = true});
  explore({.items = 3, .ring = 2, .tcp = 8, .may_detach = true, .may_return = true, .wants_each = true});
  explore({.items = 3, .ring = 2, .tcp = 8, .may_take = true, .wants_each = true});
  explore({.items = 3, .ring = 2, .tcp = 4, .may_look = true, .wants_each = true});
}

BOOST_AUTO_TEST_CASE(a_receiver_is_woken_for_nothing) {
  explore({.items = 4, .ring = 4, .tcp = 5, .wakes_at = 3});
  explore({.items = 4, .ring = 2, .tcp = 5, .may_detach = true, .wakes_at = 2});
  explore({.items = 4, .ring = 2, .tcp = 5, .may_look = true, .wakes_at = 3});
}

BOOST_AUTO_TEST_SUITE_END()
