// Persistence: offers and their adverts, writes and reads at offsets, notices, REVOKE and RELEASE, probes, ends and broken links, in
// every order of what can happen.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/proto/explored/scheduled_world.h"
#include "tests/proto/persistent_schedule.h"

using namespace exs::proto;

namespace persistence_test {

using Steps = std::vector<Step>;

// The number of a post: bytes; its flags: the offset, and whether uses are reported (even).
const auto at = [](unsigned end, unsigned kind, unsigned number = 0, unsigned flags = 0) {
  return Step{kind, end, number, flags};
};
const Step kBlock = at(1, Action::kPersistentReceive, 40, 0);
const Step kWrite = at(0, Action::kSendAt, 10, 3);
const Step kSend = at(0, Action::kSend, 10, 9);
const Step kShown = at(1, Action::kPersistentSend, 24, 0);
const Step kRead = at(0, Action::kReceiveAt, 10, 3);
const Step kReceive = at(0, Action::kReceive, 24, 1);
constexpr unsigned kAllSends = 0, kAllReceives = 3;
const Step kCancelSends = at(0, Action::kCancel, 0, kAllSends);
const Step kCancelReceives = at(0, Action::kCancel, 0, kAllReceives);
const Step kRevokeBlock = at(1, Action::kCancel, 0, kAllReceives);
const Step kRevokeShown = at(1, Action::kCancel, 0, kAllSends);
Shape shape(std::uint32_t forth_credits = 1, std::uint32_t back_credits = 1) {
  return {forth_credits, back_credits, 4, 1, 16};
}

void explore_persistence(const char* name, const Plan& plan) {
  explore<PersistentSchedule>(name, plan);
}

}  // namespace persistence_test

BOOST_AUTO_TEST_SUITE(persistence_test)

BOOST_AUTO_TEST_CASE(a_persistent_receive_ends_when_it_is_taken_back) {
  explore_persistence("a write",
                      {shape(), {Steps{kWrite}, {kBlock, kRevokeBlock}}, Expected::kOrderly, false, true});
  explore_persistence(
      "a write that is cancelled",
      {shape(), {Steps{kWrite, kCancelSends}, {kBlock, kRevokeBlock}}, Expected::kOrderly, false, true});
  explore_persistence(
      "a send that meets it",
      {shape(), {Steps{kSend, kWrite}, {kBlock, kRevokeBlock}}, Expected::kOrderly, false, true});
  explore_persistence(
      "one after the other",
      {shape(), {Steps{kWrite}, {kBlock, kRevokeBlock, kBlock}}, Expected::kOrderly, false, true});
}

BOOST_AUTO_TEST_CASE(a_persistent_send_ends_when_it_is_taken_back) {
  explore_persistence("a read",
                      {shape(), {Steps{kRead}, {kShown, kRevokeShown}}, Expected::kOrderly, false, true});
  explore_persistence(
      "a read that is cancelled",
      {shape(), {Steps{kRead, kCancelReceives}, {kShown, kRevokeShown}}, Expected::kOrderly, false, true});
  explore_persistence(
      "a receive that meets it",
      {shape(), {Steps{kReceive, kRead}, {kShown, kRevokeShown}}, Expected::kOrderly, false, true});
  explore_persistence(
      "one after the other",
      {shape(), {Steps{kRead}, {kShown, kRevokeShown, kShown}}, Expected::kOrderly, false, true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_a_direction_or_the_connection_ends) {
  explore_persistence(
      "the owner of a receive closes",
      {shape(), {Steps{kWrite}, {kBlock, at(1, Action::kClose)}}, Expected::kOrderly, false, true});
  explore_persistence("its user closes", {shape(),
                                          {Steps{kWrite, at(0, Action::kClose)}, {kBlock, kRevokeBlock}},
                                          Expected::kOrderly,
                                          false,
                                          true});
  explore_persistence("its user ends sending",
                      {shape(),
                       {Steps{kWrite, at(0, Action::kShutdownSending)}, {kBlock, kRevokeBlock}},
                       Expected::kOrderly,
                       false,
                       true});
  explore_persistence(
      "the owner of a send closes",
      {shape(), {Steps{kRead}, {kShown, at(1, Action::kClose)}}, Expected::kOrderly, false, true});
  explore_persistence("the reader closes", {shape(),
                                            {Steps{kRead, at(0, Action::kClose)}, {kShown, kRevokeShown}},
                                            Expected::kOrderly,
                                            false,
                                            true});
  explore_persistence("the owner of a send ends receiving",
                      {shape(),
                       {Steps{kRead, at(0, Action::kShutdownReceiving)}, {kShown, kRevokeShown}},
                       Expected::kOrderly,
                       false,
                       true});
}

BOOST_AUTO_TEST_CASE(a_probe_is_answered_whatever_else_is_under_way) {
  explore_persistence("with a write",
                      {shape(),
                       {Steps{at(0, Action::kProbe), kWrite}, {kBlock, at(1, Action::kProbe)}},
                       Expected::kOrderly,
                       false,
                       true});
  explore_persistence("with a close",
                      {shape(),
                       {Steps{at(0, Action::kProbe), at(0, Action::kClose)}, {at(1, Action::kProbe)}},
                       Expected::kOrderly,
                       false,
                       true});
}

BOOST_AUTO_TEST_CASE(each_operation_ends_once_when_the_link_breaks_at_any_step) {
  explore_persistence("of a write",
                      {shape(), {Steps{kWrite}, {kBlock, kRevokeBlock}}, Expected::kEnd, true, true});
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(persistence_at_length)

using namespace persistence_test;

BOOST_AUTO_TEST_CASE(longer_plans_end_as_they_must) {
  explore_persistence("a direction or the connection ends: both close",
                      {shape(),
                       {Steps{kWrite, at(0, Action::kClose)}, {kBlock, at(1, Action::kClose)}},
                       Expected::kOrderly,
                       false,
                       true});
  explore_persistence("the link breaks at any step: of a read",
                      {shape(), {Steps{kRead}, {kShown, kRevokeShown}}, Expected::kEnd, true, true});
}

BOOST_AUTO_TEST_SUITE_END()
