// Messages: credits, adverts, recalls, ends of directions and of connections, broken links, in every order of what can happen.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/proto/explored/scheduled_world.h"
#include "tests/proto/schedule.h"

using namespace exs::proto;

namespace messages_test {

using Steps = std::vector<Step>;

// Posts of either end: what is longer than kSmall, and each normal send, is an advert. A read brings 16 bytes.
constexpr unsigned kSmall = 8;
constexpr unsigned kLong = 20;
const auto at = [](unsigned end, unsigned kind, unsigned number = 0) { return Step{kind, end, number, 0}; };
const Step kAdvert = at(0, Decision::kNormalSend, 10);
const Step kLongAdvert = at(0, Decision::kNormalSend, kLong);
const Step kShort = at(0, Decision::kSend, 5);
const Step kRecall = at(0, Decision::kCancelSend, 0);
const Step kReceive = at(1, Decision::kReceive, kLong);

Shape shape(std::uint32_t forth_credits = 1, std::uint32_t back_credits = 1) {
  return {forth_credits, back_credits, kSmall, 1, 16};
}
Shape directly() {
  Shape made = shape(2, 1);
  made.sends_now = made.shows_messages = made.reads_now = true;
  return made;
}
Step by_responder(Step step) {
  step.end = 1 - step.end;
  return step;
}

void explore_messages(const char* name, const Plan& plan) {
  explore<Schedule>(name, plan);
}

}  // namespace messages_test

BOOST_AUTO_TEST_SUITE(messages_test)

BOOST_AUTO_TEST_CASE(a_message_that_is_read_arrives) {
  explore_messages("one advert", {shape(), {Steps{kLongAdvert}, {kReceive}}, Expected::kComplete});
  explore_messages("one each way",
                   {shape(),
                    {Steps{kAdvert, by_responder(kReceive)}, {by_responder(kAdvert), kReceive}},
                    Expected::kComplete});
}

BOOST_AUTO_TEST_CASE(messages_wait_for_credits_and_keep_their_order) {
  explore_messages("three sends, one credit",
                   {shape(),
                    {Steps{kShort, kAdvert, kShort}, {kReceive, kReceive, kReceive}},
                    Expected::kComplete,
                    false,
                    true});
  explore_messages("three sends, two credits",
                   {shape(2),
                    {Steps{kShort, kAdvert, kShort}, {kReceive, kReceive, kReceive}},
                    Expected::kComplete,
                    false,
                    true});
  explore_messages("there and back", {shape(),
                                      {Steps{kShort, kAdvert, by_responder(kReceive)},
                                       {kReceive, by_responder(kShort), kReceive}},
                                      Expected::kComplete,
                                      false,
                                      true});
}

BOOST_AUTO_TEST_CASE(messages_that_leave_and_are_taken_at_once_keep_their_order) {
  explore_messages("three sends", {directly(),
                                   {Steps{kShort, kAdvert, kShort}, {kReceive, kReceive, kReceive}},
                                   Expected::kComplete,
                                   false,
                                   true});
  explore_messages("a recall", {directly(),
                                {Steps{kAdvert, kShort, kRecall}, {kReceive, kReceive}},
                                Expected::kComplete,
                                false,
                                true});
}

BOOST_AUTO_TEST_CASE(a_recalled_message_is_received_or_is_not) {
  explore_messages("one advert", {shape(), {Steps{kLongAdvert, kRecall}, {kReceive}}, Expected::kComplete});
  explore_messages(
      "the first of two",
      {shape(2), {Steps{kAdvert, kAdvert, kRecall}, {kReceive, kReceive}}, Expected::kComplete, false, true});
  explore_messages(
      "of two with one credit",
      {shape(), {Steps{kAdvert, kAdvert, kRecall}, {kReceive, kReceive}}, Expected::kComplete, false, true});
  explore_messages("the last of two",
                   {shape(2),
                    {Steps{kAdvert, kAdvert, at(0, Decision::kCancelSend, 1)}, {kReceive, kReceive}},
                    Expected::kComplete,
                    false,
                    true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_a_direction_ends) {
  explore_messages("of sending",
                   {shape(), {Steps{kAdvert, at(0, Decision::kShutdownSending)}, {kReceive, kReceive}}});
  explore_messages("of receiving", {shape(),
                                    {Steps{kAdvert, kShort}, {kReceive, at(1, Decision::kShutdownReceiving)}},
                                    Expected::kOrderly,
                                    false,
                                    true});
  explore_messages("of receiving, with a recall",
                   {shape(),
                    {Steps{kAdvert, kRecall}, {kReceive, at(1, Decision::kShutdownReceiving)}},
                    Expected::kOrderly,
                    false,
                    true});
  explore_messages("of both", {shape(),
                               {Steps{kAdvert, at(0, Decision::kShutdownSending)},
                                {kReceive, at(1, Decision::kShutdownReceiving)}},
                               Expected::kOrderly,
                               false,
                               true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_an_end_closes) {
  explore_messages(
      "the sender",
      {shape(), {Steps{kAdvert, at(0, Decision::kClose)}, {kReceive}}, Expected::kOrderly, false, true});
  explore_messages(
      "the receiver",
      {shape(), {Steps{kAdvert}, {kReceive, at(1, Decision::kClose)}}, Expected::kOrderly, false, true});
  explore_messages("the sender, with a recall",
                   {shape(),
                    {Steps{kAdvert, kRecall, at(0, Decision::kClose)}, {kReceive}},
                    Expected::kOrderly,
                    false,
                    true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_the_link_breaks_at_any_step) {
  explore_messages("of a recall",
                   {shape(), {Steps{kAdvert, kRecall}, {kReceive}}, Expected::kEnd, true, true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_an_end_gives_up_at_any_step) {
  explore_messages(
      "the sender",
      {shape(), {Steps{kAdvert, at(0, Decision::kAbort)}, {kReceive}}, Expected::kEnd, false, true});
  explore_messages(
      "the receiver",
      {shape(), {Steps{kAdvert, kRecall}, {kReceive, at(1, Decision::kAbort)}}, Expected::kEnd, false, true});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(messages_at_length)

using namespace messages_test;

BOOST_AUTO_TEST_CASE(longer_plans_end_as_they_must) {
  explore_messages("an end closes: both",
                   {shape(),
                    {Steps{kAdvert, at(0, Decision::kClose)}, {kReceive, at(1, Decision::kClose)}},
                    Expected::kOrderly,
                    false,
                    true});
  explore_messages("an end closes: both, with a recall",
                   {shape(),
                    {Steps{kAdvert, kRecall, at(0, Decision::kClose)}, {kReceive, at(1, Decision::kClose)}},
                    Expected::kOrderly,
                    false,
                    true});
  explore_messages("the link breaks at any step: of sends that wait for credits",
                   {shape(), {Steps{kShort, kAdvert}, {kReceive, kReceive}}, Expected::kEnd, true, true});
  explore_messages("the link breaks at any step: of a close",
                   {shape(),
                    {Steps{kAdvert, at(0, Decision::kClose)}, {kReceive, at(1, Decision::kClose)}},
                    Expected::kEnd,
                    true,
                    true});
  explore_messages("a recalled message is received or is not: both of two",
                   {shape(2),
                    {Steps{kAdvert, kAdvert, kRecall, at(0, Decision::kCancelSend, 1)}, {kReceive, kReceive}},
                    Expected::kComplete,
                    false,
                    true});
}

BOOST_AUTO_TEST_SUITE_END()
