// KeepAlive in virtual time: what silence proves to one that looks in time, late, and late again and again.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <memory>
#include <vector>

#include "event/session/keep_alive.h"
#include "tests/support/property.h"
#include "tests/support/virtual_time.h"

namespace exs::test {
namespace keep_alive_test {

using Silence = KeepAlive::Silence;

constexpr std::uint64_t kPeriodNs = 200 * kNsPerMs;
constexpr std::uint64_t kLateNs = 3 * kPeriodNs;
constexpr std::uint64_t kLongestNs = SilentPeriods::kLongestPeriods * kPeriodNs;

// Its thread looks when the test says so, as one that gets no processor in between. The first period is one in which the peer was heard.
struct Fixture {
  struct Watch {
    explicit Watch(Shard& shard) : keep_alive(shard, [this](Silence silence) { told.push_back(silence); }) {}
    std::vector<Silence> told;
    KeepAlive keep_alive;
  };

  VirtualTime time;
  ProviderSet none;
  std::shared_ptr<Shard> shard = std::move(*Shard::create(none, time.source()));
  std::shared_ptr<Watch> watch = std::make_shared<Watch>(*shard);

  Fixture() {
    shard->carry_out([&] { watch->keep_alive.start(kPeriodNs, watch); });
  }
  // What was told then.
  std::vector<Silence> look_after(std::uint64_t ns) {
    time.pass(ns);
    shard->drive(time.now_ns(), true);
    return std::exchange(watch->told, {});
  }
  void hear() {
    shard->carry_out([&] { watch->keep_alive.heard(); });
  }
};

const std::vector<Silence> kNothing;
const std::vector<Silence> kOne{Silence::kOnePeriod};
const std::vector<Silence> kTwo{Silence::kTwoPeriods};

#define EXPECT_TOLD(found, expected) BOOST_TEST(((found) == (expected)))

}  // namespace keep_alive_test

BOOST_FIXTURE_TEST_SUITE(keep_alive_test, Fixture)

BOOST_AUTO_TEST_CASE(two_periods_of_silence_are_enough_for_who_looks_in_time) {
  EXPECT_TOLD(look_after(kPeriodNs), kNothing);
  EXPECT_TOLD(look_after(kPeriodNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs - 1), kNothing);
  EXPECT_TOLD(look_after(1), kTwo);
}

BOOST_AUTO_TEST_CASE(what_is_heard_begins_anew) {
  EXPECT_TOLD(look_after(kPeriodNs), kNothing);
  EXPECT_TOLD(look_after(kPeriodNs), kOne);
  hear();
  EXPECT_TOLD(look_after(kPeriodNs), kNothing);
  EXPECT_TOLD(look_after(kPeriodNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs), kTwo);
}

// The peer is asked all the same, and has as much longer for its answer.
BOOST_AUTO_TEST_CASE(a_period_whose_end_is_seen_late_does_not_count) {
  EXPECT_TOLD(look_after(kPeriodNs), kNothing);
  EXPECT_TOLD(look_after(kPeriodNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs + kLateNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs + kLateNs - 1), kNothing);
  hear();
  EXPECT_TOLD(look_after(1), kNothing);
}

BOOST_AUTO_TEST_CASE(nor_does_the_first_one) {
  EXPECT_TOLD(look_after(kPeriodNs), kNothing);
  EXPECT_TOLD(look_after(kPeriodNs + kLateNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs + kLateNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs + kLateNs / 2 - 1), kNothing);
  EXPECT_TOLD(look_after(1), kTwo);
}

// Else a machine that is always late would never tell of a peer that has gone.
BOOST_AUTO_TEST_CASE(who_is_late_each_time_gives_up_a_peer_that_has_gone) {
  EXPECT_TOLD(look_after(kPeriodNs + kLateNs), kNothing);
  EXPECT_TOLD(look_after(kPeriodNs + 2 * kLateNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs + 2 * kLateNs), kTwo);
}

BOOST_AUTO_TEST_CASE(however_late_one_look_was_a_period_has_a_limit) {
  EXPECT_TOLD(look_after(1000 * kLongestNs), kNothing);
  EXPECT_TOLD(look_after(kLongestNs - 1), kNothing);
  EXPECT_TOLD(look_after(1), kOne);
}

BOOST_AUTO_TEST_CASE(periods_are_as_short_as_before_when_the_looks_are_in_time_again) {
  EXPECT_TOLD(look_after(kPeriodNs + kLateNs), kNothing);
  std::uint64_t extra_ns = kLateNs;
  for (int i = 0; i < 64; ++i, extra_ns /= 2) {
    hear();
    EXPECT_TOLD(look_after(kPeriodNs + extra_ns), kNothing);
  }
  EXPECT_TOLD(look_after(kPeriodNs), kOne);
  EXPECT_TOLD(look_after(kPeriodNs), kTwo);
}

// Whatever the looks are like: only silence ends a watch, and silence ends each.
BOOST_AUTO_TEST_CASE(any_looks) {
  BOOST_TEST(holds("who is silent is given up, and who is heard is not", [] {
    SilentPeriods periods;
    std::uint64_t now_ns = draw<std::uint64_t>(0, 1000) * kNsPerSecond;
    periods.start(kPeriodNs, now_ns);
    const auto look = [&](bool was_heard) {
      const std::uint64_t late_ns = draw(0, 2) == 0 ? 0 : draw<std::uint64_t>(0, kLongestNs - kPeriodNs);
      now_ns = periods.due_ns() + late_ns;
      return periods.end(now_ns, was_heard);
    };
    for (int i = 0; i < 40; ++i) {
      const bool was_heard = i % 2 == 0;
      EXS_HOLD(look(was_heard) ==
               (was_heard ? SilentPeriods::Proof::kLives : SilentPeriods::Proof::kIsSilent));
    }
    EXS_HOLD(look(true) == SilentPeriods::Proof::kLives);
    // Each look either counts or makes the periods longer, by an eighth at least.
    int looks = 0;
    while (look(false) != SilentPeriods::Proof::kIsGone) EXS_HOLD(++looks < 100);
  }));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
