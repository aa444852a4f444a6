// Streams: bytes that travel in messages and bytes that are read, receives that wait for all, recalls, ends and broken links, in every
// order of what can happen.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/proto/explored/scheduled_world.h"
#include "tests/proto/stream_schedule.h"

using namespace exs::proto;

namespace streams_test {

using Steps = std::vector<Step>;
using Kind = StreamDecision;

const auto at = [](unsigned end, unsigned kind, unsigned number = 0, unsigned flags = 0) {
  return Step{kind, end, number, flags};
};
const Step kAdvert = at(0, Kind::kSend, 10, Kind::kNormal);
const Step kLongAdvert = at(0, Kind::kSend, 20, Kind::kNormal);
const Step kSmall = at(0, Kind::kSend, 5);
const Step kFirstOfMore = at(0, Kind::kSend, 3, Kind::kMore);
const Step kRecall = at(0, Kind::kCancel, 0, 1);
const Step kReceive = at(1, Kind::kReceive, 16);
const Step kReceiveAll = at(1, Kind::kReceive, 12, Kind::kWaitAll);
const Step kCancelReceive = at(1, Kind::kCancel, 0, 0);
Shape shape(std::uint32_t forth_credits = 1, std::uint32_t back_credits = 1) {
  return {forth_credits, back_credits, 8, 1, 16};
}

void explore_stream(const char* name, const Plan& plan) {
  explore<StreamSchedule>(name, plan);
}

}  // namespace streams_test

BOOST_AUTO_TEST_SUITE(streams_test)

BOOST_AUTO_TEST_CASE(every_byte_arrives_once_and_in_order) {
  explore_stream("small and read",
                 {shape(), {Steps{kSmall, kAdvert}, {kReceive}}, Expected::kComplete, false, true});
  explore_stream(
      "more than a receive takes",
      {shape(2), {Steps{kLongAdvert, kSmall}, {kReceive, kReceiveAll}}, Expected::kComplete, false, true});
  explore_stream("combined", {shape(),
                              {Steps{kFirstOfMore, kSmall, kSmall, at(0, Kind::kFlush)}, {kReceiveAll}},
                              Expected::kComplete,
                              false,
                              true});
}

BOOST_AUTO_TEST_CASE(a_recalled_send_is_received_or_is_not) {
  explore_stream("one", {shape(), {Steps{kAdvert, kRecall}, {kReceive}}, Expected::kComplete, false, true});
  explore_stream(
      "the first of two",
      {shape(2), {Steps{kAdvert, kAdvert, kRecall}, {kReceive, kReceive}}, Expected::kComplete, false, true});
  explore_stream(
      "with a receive that is cancelled",
      {shape(), {Steps{kAdvert, kRecall}, {kReceiveAll, kCancelReceive}}, Expected::kComplete, false, true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_a_direction_or_the_connection_ends) {
  explore_stream("of sending", {shape(),
                                {Steps{kAdvert, kSmall, at(0, Kind::kShutdownSending)}, {kReceiveAll}},
                                Expected::kOrderly,
                                false,
                                true});
  explore_stream("of receiving", {shape(),
                                  {Steps{kAdvert, kSmall}, {kReceive, at(1, Kind::kShutdownReceiving)}},
                                  Expected::kOrderly,
                                  false,
                                  true});
  explore_stream(
      "the sender closes",
      {shape(), {Steps{kAdvert, kRecall, at(0, Kind::kClose)}, {kReceive}}, Expected::kOrderly, false, true});
  explore_stream("both close", {shape(),
                                {Steps{kAdvert, at(0, Kind::kClose)}, {kReceive, at(1, Kind::kClose)}},
                                Expected::kOrderly,
                                false,
                                true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_the_link_breaks_at_any_step) {
  explore_stream("of a recall", {shape(), {Steps{kAdvert, kRecall}, {kReceive}}, Expected::kEnd, true, true});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(streams_at_length)

using namespace streams_test;

BOOST_AUTO_TEST_CASE(longer_plans_end_as_they_must) {
  explore_stream("the link breaks at any step: of a close",
                 {shape(),
                  {Steps{kAdvert, at(0, Kind::kClose)}, {kReceive, at(1, Kind::kClose)}},
                  Expected::kEnd,
                  true,
                  true});
}

BOOST_AUTO_TEST_SUITE_END()
