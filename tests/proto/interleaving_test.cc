// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/random_schedule.h"
#include "tests/proto/schedule.h"

using namespace exs::proto;

namespace interleaving_test {

const Vocabulary kMessages = {{{"step", 18},
                               {"send", 2},
                               {"normal send", 1},
                               {"receive", 3},
                               {"cancel send", 1},
                               {"shutdown sending", 1, kEndings},
                               {"shutdown receiving", 1, kEndings},
                               {"close", 1, kEndings},
                               {"abort", 1, kFailures},
                               {"break", 1, kFailures},
                               {"starve", 1}},
                              {{":", {{1, 0, 120}}}}};

}  // namespace interleaving_test

BOOST_AUTO_TEST_SUITE(interleaving_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

BOOST_AUTO_TEST_CASE(every_byte_arrives_whatever_the_order_of_events) {
  hold("transfers, credits up to 6", [] { expect_complete<Schedule>(kMessages, 6); });
}

BOOST_AUTO_TEST_CASE(one_credit_each_way_is_enough) {
  hold("transfers, credits 1/1", [] { expect_complete<Schedule>(kMessages, 1); });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_directions_and_connections_are_closed) {
  hold("transfers, shutdowns, closes", [] {
    Schedule schedule(draw_shape(4));
    carry_out(schedule, draw_steps(kMessages, {30, 1}));
    schedule.run();
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_the_connection_is_lost) {
  hold("transfers, endings, aborts, broken links", [] {
    Schedule schedule(draw_shape(4));
    carry_out(schedule, draw_steps(kMessages, {60, 2, 1}));
    schedule.run();
    schedule.finish();
    EXS_HOLD_EMPTY(schedule.wrong_at_end());
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_whichever_call_of_the_link_fails) {
  hold("transfers, one failing call", [] {
    Schedule schedule(draw_shape(4));
    carry_out_with_failing_call(schedule, draw_steps(kMessages, {40, 1}));
    EXS_HOLD(schedule.end(0).is_over());
    EXS_HOLD(schedule.end(1).is_over());
    EXS_HOLD(schedule.end(0).sends_ended == schedule.end(0).sends.size());
    EXS_HOLD(schedule.end(1).receives_ended == schedule.end(1).receives.size());
    EXS_HOLD_EMPTY(schedule.wrong_so_far());
  });
}

BOOST_AUTO_TEST_SUITE_END()
