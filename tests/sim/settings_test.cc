// What EXS_PROVIDER=sim:... may say, and what is said about the rest.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/sim/settings.h"

#include <boost/test/unit_test.hpp>

using exs::sim::read_settings;
using exs::sim::Settings;

BOOST_AUTO_TEST_SUITE(settings_test)

BOOST_AUTO_TEST_CASE(each_setting_is_read) {
  Settings settings;
  BOOST_TEST(
      read_settings(
          "seed=7,clock=real,tick=5ns,delay=1us..2ms,pause=3ms,down=1s,reorder=no,report=yes,late=0,lose=12,"
          "die=1/5,slow=1/6,starve=1/7,pieces=1/8,nomem=1/9,interrupt=1/10",
          settings) == "");
  BOOST_TEST(settings.seed == 7U);
  BOOST_TEST(!settings.virtual_clock);
  BOOST_TEST(settings.tick_ns == 5U);
  BOOST_TEST(settings.delay_min_ns == 1'000U);
  BOOST_TEST(settings.delay_max_ns == 2'000'000U);
  BOOST_TEST(settings.pause_ns == 3'000'000U);
  BOOST_TEST(settings.down_ns == 1'000'000'000U);
  BOOST_TEST(!settings.reorder);
  BOOST_TEST(settings.report);
  BOOST_TEST(settings.late.number == 0U);
  BOOST_TEST((settings.lose.number == 12 && !settings.lose.is_odds));
  BOOST_TEST((settings.die.number == 5 && settings.die.is_odds));
  BOOST_TEST(settings.slow.number == 6U);
  BOOST_TEST(settings.starve.number == 7U);
  BOOST_TEST(settings.pieces.number == 8U);
  BOOST_TEST(settings.nomem.number == 9U);
  BOOST_TEST(settings.interrupt.number == 10U);
}

BOOST_AUTO_TEST_CASE(one_delay_is_for_all_and_none_is_possible) {
  Settings settings;
  BOOST_TEST(read_settings("delay=3us", settings) == "");
  BOOST_TEST((settings.delay_min_ns == 3'000 && settings.delay_max_ns == 3'000));
  BOOST_TEST(read_settings("delay=0", settings) == "");
  BOOST_TEST(settings.delay_max_ns == 0U);
  BOOST_TEST(read_settings("", settings) == "");
}

BOOST_AUTO_TEST_CASE(a_setting_that_means_nothing_is_named_with_what_it_may_be) {
  constexpr const char* kWrong[][2] = {
      {"sed=1", "\"sed=1\": the settings are seed, clock, tick, delay"},
      {"seed", "\"seed\": give seed= a number"},
      {"seed=-1", "give seed= a number"},
      {"seed=1x", "give seed= a number"},
      {"seed=99999999999999999999", "give seed= a number"},
      {"delay=2us..1us", "the lesser one first"},
      {"delay=5", "\"delay=5\": give delay= a time"},
      {"delay=2h", "give delay= a time"},
      {"pause=3601s", "a time up to an hour"},
      {"lose=1/0", "1/N for one step in N"},
      {"lose=often", "0 for never, N for step N alone"},
      {"clock=fast", "virtual or real"},
      {"reorder=", "yes or no"},
      {"seed=1,,clock=real", "\"\": the settings are"},
  };
  for (const auto& [text, words] : kWrong) {
    Settings settings;
    const std::string said = read_settings(text, settings);
    BOOST_TEST(said.find(words) != std::string::npos, text << ": " << said);
  }
}

BOOST_AUTO_TEST_SUITE_END()
