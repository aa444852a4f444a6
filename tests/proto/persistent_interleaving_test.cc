// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <vector>

#include "tests/proto/persistent_schedule.h"
#include "tests/proto/random_schedule.h"

using namespace exs::proto;

namespace persistent_interleaving_test {

const std::vector<exs::test::Column> kNumbers = {{":", {{1, 0, 100}}}, {"/", {{1, 0, 60}}}};
const Vocabulary kPersistence = {{{"step", 36},
                                  {"send", 3},
                                  {"receive", 3},
                                  {"send at", 2},
                                  {"receive at", 2},
                                  {"persistent send", 2},
                                  {"persistent receive", 2},
                                  {"cancel", 2},
                                  {"probe", 1},
                                  {"flush", 1},
                                  {"shutdown sending", 1, kEndings},
                                  {"shutdown receiving", 1, kEndings},
                                  {"close", 1, kEndings},
                                  {"break", 1, kFailures}},
                                 kNumbers};
const Vocabulary kSends = {{{"step", 12}, {"send", 2}, {"receive", 0}, {"send at", 2}}, kNumbers};

Shape draw_persistent_shape(unsigned credits_max) {
  return draw_shape(credits_max, 90);
}

void carry_out_to_rest(PersistentSchedule& schedule, const Shares& shares) {
  carry_out(schedule, draw_steps(kPersistence, shares));
  schedule.run();
  EXS_HOLD_EMPTY(schedule.wrong_so_far());
}

void put(Bytes& memory, const AnyPosted& sent) {
  const std::size_t offset = sent.operation.at_offset ? sent.operation.offset : 0;
  std::copy(sent.memory.begin(), sent.memory.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace persistent_interleaving_test

BOOST_AUTO_TEST_SUITE(persistent_interleaving_test, *boost::unit_test::fixture<exs::test::PropertyDefaults>())

BOOST_AUTO_TEST_CASE(every_operation_ends_once_whatever_is_persistent_and_cancelled) {
  hold("persistence, credits up to 5", [] {
    PersistentSchedule schedule(draw_persistent_shape(5));
    carry_out_to_rest(schedule, {1});
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(one_credit_each_way_is_enough) {
  hold("persistence, credits 1/1", [] {
    PersistentSchedule schedule(draw_persistent_shape(1));
    carry_out_to_rest(schedule, {1});
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_directions_and_connections_are_closed) {
  hold("persistence, shutdowns, closes", [] {
    PersistentSchedule schedule(draw_persistent_shape(3));
    carry_out_to_rest(schedule, {40, 1});
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_the_connection_is_lost) {
  hold("persistence, endings, broken links", [] {
    PersistentSchedule schedule(draw_persistent_shape(3));
    carry_out_to_rest(schedule, {80, 2, 1});
    schedule.finish();
    EXS_HOLD_EMPTY(schedule.wrong_at_end());
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_whichever_call_of_the_link_fails) {
  hold("persistence, one failing call", [] {
    PersistentSchedule schedule(draw_persistent_shape(3));
    carry_out_with_failing_call(schedule, draw_steps(kPersistence, {60, 1}));
    EXS_HOLD_EMPTY(schedule.wrong_at_end());
  });
}

BOOST_AUTO_TEST_CASE(persistent_memory_is_as_if_every_send_had_gone_the_same_way) {
  hold("sends around an offer", [] {
    PersistentSchedule schedule(draw_persistent_shape(4));
    EXS_HOLD(schedule.start());
    const auto actions = draw_steps(kSends, {1});
    const auto offered_at = exs::test::draw<std::size_t>(0, actions.size() + 1);
    constexpr std::size_t kBlockBytes = 160;
    AnyPosted* block = nullptr;
    const auto offer = [&] {
      block = &schedule.post(schedule.end(1), Action::kPersistentReceive, kBlockBytes, 0);
    };
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (i == offered_at) offer();
      Step action = actions[i];
      if (action.kind != Action::kStep) action.end = 0;
      schedule.carry_out(action);
      EXS_HOLD_EMPTY(schedule.wrong_so_far());
    }
    if (block == nullptr) offer();
    schedule.end(0).connection->flush();
    schedule.run();
    Bytes expected(kBlockBytes, kGuard);
    std::uint64_t bytes = 0;
    for (const AnyPosted& sent : schedule.end(0).posted) {
      EXS_HOLD(sent.outcomes == 1);
      EXS_HOLD(sent.outcome.error == 0);
      put(expected, sent);
      bytes += sent.memory.size();
    }
    EXS_HOLD(block->memory == expected);
    EXS_HOLD(block->told_bytes == bytes);
    expect_orderly_end(schedule);
    EXS_HOLD(block->outcome.length_bytes == bytes);
  });
}

BOOST_AUTO_TEST_SUITE_END()
