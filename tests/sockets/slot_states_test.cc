// The states of a connection, and which of them follow one another.
// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/slot_states.h"

#include <boost/test/unit_test.hpp>

#include <array>
#include <iterator>

namespace slot_states_test {

using exs::sockets::after_lane;
using exs::sockets::change_state;
using exs::sockets::is_in_lane;
using exs::sockets::may_follow;
using exs::sockets::ReceivePath;
using exs::sockets::SlotEnd;
using exs::sockets::Stage;

constexpr std::array kStages{Stage::kFree,    Stage::kNoted, Stage::kCalling,
                             Stage::kOffered, Stage::kLane,  Stage::kPlain};
constexpr std::array kPaths{ReceivePath::kTcp,     ReceivePath::kRing,    ReceivePath::kTakesAlong,
                            ReceivePath::kLeaving, ReceivePath::kCarried, ReceivePath::kLeft,
                            ReceivePath::kDrained};
constexpr std::array kEnds{SlotEnd::kOpen, SlotEnd::kSeen, SlotEnd::kBeingReset, SlotEnd::kReset};

}  // namespace slot_states_test

BOOST_AUTO_TEST_SUITE(slot_states_test)

BOOST_AUTO_TEST_CASE(each_state_has_its_row_in_the_table) {
  BOOST_TEST(std::size(exs::sockets::kAfterStage) == kStages.size());
  BOOST_TEST(std::size(exs::sockets::kAfterReceivePath) == kPaths.size());
  BOOST_TEST(std::size(exs::sockets::kAfterEnd) == kEnds.size());
}

BOOST_AUTO_TEST_CASE(a_free_slot_is_taken_before_it_is_noted) {
  for (const Stage next : kStages) BOOST_TEST(may_follow(Stage::kFree, next) == (next == Stage::kPlain));
}

BOOST_AUTO_TEST_CASE(the_lane_begins_only_after_a_card_or_an_offer) {
  for (const Stage before : kStages)
    BOOST_TEST(may_follow(before, Stage::kLane) == (before == Stage::kCalling || before == Stage::kOffered));
}

BOOST_AUTO_TEST_CASE(a_connection_goes_back_to_tcp_from_every_stage) {
  for (const Stage before : kStages) BOOST_TEST(may_follow(before, Stage::kPlain));
}

BOOST_AUTO_TEST_CASE(receives_enter_the_ring_only_from_tcp_or_if_they_stay) {
  for (const ReceivePath before : kPaths)
    BOOST_TEST(may_follow(before, ReceivePath::kRing) ==
               (before == ReceivePath::kTcp || before == ReceivePath::kLeaving));
}

BOOST_AUTO_TEST_CASE(a_reset_ends_the_lane_on_every_path_and_keeps_the_copy_in_mind) {
  for (const ReceivePath path : kPaths) {
    if (!is_in_lane(path)) continue;
    BOOST_TEST(may_follow(path, after_lane(path)));
    BOOST_TEST(!is_in_lane(after_lane(path)));
    BOOST_TEST((after_lane(path) == ReceivePath::kDrained) == (path == ReceivePath::kCarried));
  }
}

// A thread may have left the lane already while another one still sees its stage.
BOOST_AUTO_TEST_CASE(receives_that_left_the_lane_do_not_enter_it_again) {
  std::atomic<ReceivePath> receives{ReceivePath::kLeft};
  BOOST_TEST(!change_state(receives, ReceivePath::kTcp, ReceivePath::kRing));
  BOOST_TEST((receives.load() == ReceivePath::kLeft));
}

// A detach may come between the steps of a meeting.
BOOST_AUTO_TEST_CASE(a_meeting_does_not_take_back_that_the_connection_was_detached) {
  std::atomic<Stage> stage{Stage::kPlain};
  BOOST_TEST(!change_state(stage, Stage::kNoted, Stage::kOffered));
  BOOST_TEST(!change_state(stage, Stage::kCalling, Stage::kLane));
  BOOST_TEST((stage.load() == Stage::kPlain));
}

BOOST_AUTO_TEST_CASE(an_end_is_never_forgotten) {
  for (const SlotEnd before : kEnds) BOOST_TEST(!may_follow(before, SlotEnd::kOpen));
}

BOOST_AUTO_TEST_SUITE_END()
