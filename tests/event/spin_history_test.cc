// SpinHistory: which waits poll before they sleep.
#include <boost/test/unit_test.hpp>

#include "event/queue/spin_history.h"

namespace exs::test {
namespace {

struct Fixture {
  // Of waits that find nothing: how many polled.
  std::uint32_t tries_of(std::uint32_t waits) {
    std::uint32_t tries = 0;
    for (std::uint32_t i = 0; i < waits; ++i) {
      if (!spins.is_worth_a_try()) continue;
      ++tries;
      spins.found_nothing();
    }
    return tries;
  }
  SpinHistory spins;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(spin_history_test, Fixture)

BOOST_AUTO_TEST_CASE(waits_poll_until_many_have_found_nothing) {
  BOOST_TEST(tries_of(SpinHistory::kVainMost) == SpinHistory::kVainMost);
  constexpr std::uint32_t kWaits = 1000;
  const std::uint32_t tries = tries_of(kWaits);
  BOOST_TEST(tries >= kWaits / SpinHistory::kRarest);
  BOOST_TEST(tries <= kWaits / SpinHistory::kRarest + 5);  // its first pauses are shorter
}

BOOST_AUTO_TEST_CASE(one_that_finds_something_makes_all_poll_again) {
  tries_of(1000);
  while (!spins.is_worth_a_try()) continue;
  spins.found();
  BOOST_TEST(tries_of(SpinHistory::kVainMost) == SpinHistory::kVainMost);
  // Expect: the pauses are short again.
  BOOST_TEST(tries_of(3) >= 2U);
}

BOOST_AUTO_TEST_CASE(some_that_find_nothing_between_others_change_nothing) {
  for (int i = 0; i < 100; ++i) {
    BOOST_TEST(tries_of(SpinHistory::kVainMost - 1) == SpinHistory::kVainMost - 1);
    BOOST_TEST(spins.is_worth_a_try());
    spins.found();
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
