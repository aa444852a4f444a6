// Requests to a service that is killed at any moment, and starts again: each ends once, and nothing is executed twice that must not be.
// SPDX-License-Identifier: BSD-2-Clause
#include <optional>

#include "tests/service/asker.h"

namespace exs::svc {

using namespace exs::svc::test;

BOOST_FIXTURE_TEST_SUITE(request_kills_test, AskingSurvivor)

BOOST_AUTO_TEST_CASE(each_request_ends_once_whenever_its_service_is_killed) {
  const int kills = kills_wanted(10);
  for (int i = 0; i <= kills; ++i) {
    Victim victim(program, folder.path());
    const std::size_t most = i == kills ? all.size() + 50 : SIZE_MAX;
    const std::size_t enough = i == kills ? most : ended + 1 + choice() % 150;
    for (int turn = 0; ended < enough; ++turn) {
      BOOST_REQUIRE(turn < kTurnsMax);
      ask_what_fits(most);
      take_events();
      victim.read_into(ledger);
    }
    victim.kill();
    victim.read_into(ledger);
  }
  const std::size_t unknown = check_table(ledger);
  BOOST_TEST(unknown <= std::size_t{64} * static_cast<std::size_t>(kills));
}

// Of a service that is stopped with its requests in hand, exactly those are unknown.
BOOST_AUTO_TEST_CASE(what_a_dead_service_had_is_unknown_or_asked_again) {
  std::optional<Victim> victim(std::in_place, program, folder.path());
  const auto turn_until_ended = [&](std::size_t count) {
    for (int turn = 0; ended < count; ++turn) {
      BOOST_REQUIRE(turn < kTurnsMax);
      take_events();
      victim->read_into(ledger);
    }
  };
  ask_what_fits(20);
  turn_until_ended(20);
  victim->stop();
  ask_what_fits(40);
  victim.emplace(program, folder.path());
  turn_until_ended(40);
  for (Number number = 0; number < 40; ++number)
    BOOST_TEST(all[number].error == (number < 20 || number % 2 == 0 ? 0 : EOWNERDEAD));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
