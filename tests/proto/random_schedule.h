// Random schedules, as RapidCheck draws them, and what must hold of those of every vocabulary.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>

#include <array>
#include <cerrno>
#include <functional>
#include <vector>

#include "tests/proto/schedule_runner.h"
#include "tests/support/property.h"

namespace exs::proto {

enum StepGroup : unsigned { kTransfers, kEndings, kFailures };

struct StepKind {
  const char* name;
  double weight = 1;  // how often it is taken, beside the others of its group
  StepGroup group = kTransfers;
};
struct Vocabulary {
  std::vector<StepKind> kinds;        // in the order of the enumeration
  std::vector<test::Column> numbers;  // the number, and the flags if there are any
};
// How often a group is taken, beside the others.
using Shares = std::array<double, 3>;

// BOOST_TEST prints all of its argument, so the property stays out of it.
inline void hold(const char* name, const std::function<void()>& property) {
  const bool held = test::holds(name, property);
  BOOST_TEST(held);
}

inline Shape draw_shape(unsigned credits_max, unsigned small_end = 48) {
  const test::Row row = test::draw_row({{"credits ", {{1, 1, credits_max + 1}}},
                                        {"/", {{1, 1, credits_max + 1}}},
                                        {", small ", {{1, 0, small_end}}},
                                        {", reads ", {{1, 1, 5}}},
                                        {", chunk ", {{1, 1, 40}}},
                                        {", sends now ", {{1, 0, 2}}},
                                        {", shows ", {{1, 0, 2}}},
                                        {", reads now ", {{1, 0, 2}}},
                                        {", most credits ", {{1, 0, 1}, {2, 1, 20}}}});
  return {row[0], row[1], row[2], row[3], row[4], row[5] == 1, row[6] == 1, row[7] == 1, row[8]};
}

inline std::vector<Step> draw_steps(const Vocabulary& vocabulary, const Shares& shares) {
  Shares weights = {};
  for (const StepKind& kind : vocabulary.kinds) weights.at(kind.group) += kind.weight;
  test::Column kinds = {"", {}};
  for (unsigned i = 0; i < vocabulary.kinds.size(); ++i) {
    const StepKind& kind = vocabulary.kinds[i];
    const double weight = kind.weight * shares.at(kind.group) / weights.at(kind.group);
    if (weight > 0) kinds.ranges.push_back({weight, i, i + 1, kind.name});
  }
  std::vector<test::Column> columns = {kinds, {"@", {{1, 0, 2}}}};
  columns.insert(columns.end(), vocabulary.numbers.begin(), vocabulary.numbers.end());
  std::vector<Step> steps;
  for (const test::Row& row : test::draw_rows(columns, 4.0))
    steps.push_back({row[0], row[1], row[2], row.size() > 3 ? row[3] : 0});
  return steps;
}

template <typename AnySchedule>
void carry_out_steps(AnySchedule& schedule, const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    schedule.carry_out(step);
    EXS_HOLD_EMPTY(schedule.wrong_so_far());
  }
}

template <typename AnySchedule>
void carry_out(AnySchedule& schedule, const std::vector<Step>& steps) {
  EXS_HOLD(schedule.start());
  carry_out_steps(schedule, steps);
}

// To the end, with one call that fails at one of the links.
template <typename AnySchedule>
void carry_out_with_failing_call(AnySchedule& schedule, const std::vector<Step>& steps) {
  const test::Row failing =
      test::draw_row({{"end ", {{1, 0, 2}}}, {", call ", {{1, 1, 80}}}, {", link goes ", {{1, 0, 2}}}});
  EXS_HOLD(schedule.start());
  schedule.end(failing[0]).link->fail_call(failing[1], failing[2] == 1 ? ENOTCONN : ENOMEM);
  carry_out_steps(schedule, steps);
  schedule.run();
  schedule.finish();
}

// Where nothing is refused or lost every close is orderly, at both ends.
template <typename AnySchedule>
void expect_orderly_end(AnySchedule& schedule) {
  schedule.finish();
  EXS_HOLD_EMPTY(schedule.wrong_at_end());
  for (const unsigned i : {0U, 1U}) {
    EXS_HOLD(schedule.end(i).closed_count == 1);
    EXS_HOLD(schedule.end(i).link->windows() == 0U);
  }
}

// Of transfers alone, everything arrives.
template <typename AnySchedule>
void expect_complete(const Vocabulary& vocabulary, unsigned credits_max) {
  AnySchedule schedule(draw_shape(credits_max));
  carry_out(schedule, draw_steps(vocabulary, {1}));
  schedule.complete_transfers();
  EXS_HOLD_EMPTY(schedule.wrong_if_undisturbed());
  expect_orderly_end(schedule);
}

}  // namespace exs::proto
