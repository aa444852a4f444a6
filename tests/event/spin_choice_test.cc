// SpinChoice: which waits poll before they sleep.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <functional>

#include "event/queue/spin_choice.h"

namespace exs::test {
namespace spin_choice_test {

constexpr std::uint64_t kUs = 1000;
constexpr std::uint64_t kSpinNs = 50 * kUs;

struct Outcome {
  std::uint64_t took_ns = 0;
  bool has_slept = true;
  std::size_t events = 1;
};
using World = std::function<Outcome(bool spins)>;

struct Fixture {
  void pass(SpinChoice& which, bool spins, const Outcome& outcome) {
    const std::uint64_t began_ns = now_ns;
    now_ns += outcome.took_ns;
    which.took(outcome.events);
    which.ended(spins, outcome.has_slept, began_ns, now_ns);
  }
  // Of so many waits: how many poll.
  int polling_of(int waits, const World& world) {
    int polling = 0;
    for (int i = 0; i < waits; ++i) {
      const bool spins = choice.is_to_spin();
      if (spins) ++polling;
      pass(choice, spins, world(spins));
    }
    return polling;
  }
  std::uint64_t now_ns = 1;
  SpinChoice choice;
};

constexpr std::uint64_t kWakeUpNs = 25 * kUs;

// What comes so long after the wait has begun.
Outcome after(std::uint64_t ns, bool spins) {
  if (spins && ns < kSpinNs) return {ns, false};
  return {ns + kWakeUpNs, true};
}
Outcome in_time(bool spins) {
  return after(20 * kUs, spins);
}
Outcome late(bool spins) {
  return after(60 * kUs, spins);
}
// What comes when the wait has slept for a while, and not before.
Outcome on_a_busy_processor(bool spins) {
  return {10 * kUs + (spins ? kSpinNs : 0), true};
}

constexpr int kMany = 10'000;

}  // namespace spin_choice_test

BOOST_FIXTURE_TEST_SUITE(spin_choice_test, Fixture)

BOOST_AUTO_TEST_CASE(waits_that_find_something_all_poll) {
  BOOST_TEST(polling_of(kMany, in_time) == kMany);
}

BOOST_AUTO_TEST_CASE(waits_that_polling_delays_sleep_at_once) {
  BOOST_TEST(polling_of(kMany, on_a_busy_processor) < kMany / 20);
  BOOST_TEST(polling_of(kMany, on_a_busy_processor) <= kMany * 2 / 100);
}

BOOST_AUTO_TEST_CASE(waits_that_polling_does_not_delay_poll_although_it_is_in_vain) {
  BOOST_TEST(polling_of(kMany, late) > kMany * 95 / 100);
}

BOOST_AUTO_TEST_CASE(waits_that_are_late_many_times_in_a_row_and_then_in_time_poll) {
  int waits = 0;
  const auto by_turns = [&](bool spins) { return ++waits / 50 % 2 == 0 ? late(spins) : in_time(spins); };
  BOOST_TEST(polling_of(kMany, by_turns) > kMany * 8 / 10);
}

// Each finds what the other sends only after that one's wake-up.
BOOST_AUTO_TEST_CASE(two_ends_that_sleep_poll_again) {
  polling_of(kMany, on_a_busy_processor);
  SpinChoice other;
  for (std::uint32_t i = 0; i < SpinChoice::kVainLeast; ++i) pass(other, true, late(true));
  BOOST_TEST(!other.is_to_spin());
  const auto both = [&](bool spins) {
    const bool spins_there = other.is_to_spin();
    const Outcome there = after(30 * kUs + (spins ? 0 : kWakeUpNs), spins_there);
    other.took(there.events);
    other.ended(spins_there, there.has_slept, now_ns, now_ns + there.took_ns);
    return after(30 * kUs + (spins_there ? 0 : kWakeUpNs), spins);
  };
  polling_of(kMany, both);
  BOOST_TEST(polling_of(kMany, both) == kMany);
}

BOOST_AUTO_TEST_CASE(all_poll_again_soon_when_it_has_become_worth_it) {
  polling_of(kMany, on_a_busy_processor);
  polling_of(SpinChoice::kSleepsMost + SpinChoice::kPolls, in_time);
  BOOST_TEST(polling_of(kMany, in_time) == kMany);
}

BOOST_AUTO_TEST_CASE(some_that_find_nothing_between_others_change_nothing) {
  std::uint32_t waits = 0;
  const auto mostly_late = [&](bool spins) {
    return ++waits % SpinChoice::kVainLeast == 0 ? in_time(spins) : on_a_busy_processor(spins);
  };
  BOOST_TEST(polling_of(kMany, mostly_late) == kMany);
}

// A wait of twice the length, and four times the events.
BOOST_AUTO_TEST_CASE(waits_after_which_there_are_more_events_poll) {
  const auto in_batches = [](bool spins) {
    return spins ? Outcome{200 * kUs, true, 8} : Outcome{100 * kUs, true, 2};
  };
  BOOST_TEST(polling_of(kMany, in_batches) > kMany * 95 / 100);
}

BOOST_AUTO_TEST_CASE(waits_that_last_long_say_nothing) {
  BOOST_TEST(polling_of(kMany, [](bool) { return Outcome{SpinChoice::kLongNs + 1, true}; }) == kMany);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
