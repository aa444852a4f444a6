// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/random_schedule.h"
#include "tests/proto/stream_schedule.h"

using namespace exs::proto;

namespace stream_property_test {

// Sizes from none to several times the small maximum and a chunk, every other one of few bytes.
const Vocabulary kStreams = {{{"step", 20},
                              {"send", 6},
                              {"receive", 4},
                              {"end burst", 2},
                              {"flush", 1},
                              {"nodelay", 1},
                              {"cancel", 1},
                              {"starve", 1},
                              {"shutdown sending", 1, kEndings},
                              {"shutdown receiving", 1, kEndings},
                              {"close", 1, kEndings},
                              {"abort", 1, kFailures},
                              {"break", 1, kFailures}},
                             {{":", {{1, 0, 20}, {1, 0, 160}}}, {"/", {{1, 0, 24}}}}};

}  // namespace stream_property_test

BOOST_AUTO_TEST_SUITE(stream_property_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

BOOST_AUTO_TEST_CASE(every_byte_arrives_once_and_in_order) {
  hold("transfers, credits up to 6", [] { expect_complete<StreamSchedule>(kStreams, 6); });
}

BOOST_AUTO_TEST_CASE(one_credit_each_way_is_enough) {
  hold("transfers, credits 1/1", [] { expect_complete<StreamSchedule>(kStreams, 1); });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_directions_and_connections_are_closed) {
  hold("transfers, shutdowns, closes", [] {
    StreamSchedule schedule(draw_shape(4));
    carry_out(schedule, draw_steps(kStreams, {30, 1}));
    schedule.run();
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_the_connection_is_lost) {
  hold("transfers, endings, aborts, broken links", [] {
    StreamSchedule schedule(draw_shape(4));
    carry_out(schedule, draw_steps(kStreams, {60, 2, 1}));
    schedule.run();
    schedule.finish();
    EXS_HOLD_EMPTY(schedule.wrong_at_end());
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_whichever_call_of_the_link_fails) {
  hold("transfers, one failing call", [] {
    StreamSchedule schedule(draw_shape(4));
    carry_out_with_failing_call(schedule, draw_steps(kStreams, {40, 1}));
    EXS_HOLD(schedule.end(0).is_over());
    EXS_HOLD(schedule.end(1).is_over());
    for (const unsigned i : {0U, 1U}) {
      EXS_HOLD(schedule.end(i).sends_ended == schedule.end(i).sends.size());
      EXS_HOLD(schedule.end(i).receives_ended == schedule.end(i).receives.size());
    }
    EXS_HOLD_EMPTY(schedule.wrong_so_far());
  });
}

BOOST_AUTO_TEST_SUITE_END()
