// What a process says to exs-run, and what it makes of the answers.
// SPDX-License-Identifier: BSD-2-Clause
#include <poll.h>

#include <string>
#include <thread>
#include <vector>

#include <boost/test/unit_test.hpp>

#include "src/boot/boot.h"
#include "tests/boot/false_launcher.h"

using exs::boot::Boot;
using exs::boot::is_card;
using exs::boot::kCardBytesMax;
using exs::test::FalseLauncher;

namespace launcher_boot_test {

using Ranks = std::vector<int>;
using Cards = std::vector<std::string>;

bool is_readable(const Boot& boot) {
  pollfd watched{boot.descriptor(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

// Of an exchange of rank 0 of two that is answered so.
int error_of_exchange(const std::string& answer, bool is_all = false) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  launcher.say(answer);
  if (is_all) launcher.say_no_more();
  const auto cards = boot->exchange("mine");
  return cards ? 0 : cards.error().error();
}

}  // namespace launcher_boot_test

BOOST_AUTO_TEST_SUITE(launcher_boot_test)

BOOST_AUTO_TEST_CASE(an_exchange_publishes_and_returns_all_by_rank) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(1, 4);
  launcher.say("card 2 \ncard 0  two words, \tand more\ncard 3 card 3 x\ncard 1 mine\n");
  const auto cards = boot->exchange("mine");
  BOOST_REQUIRE(cards.has_value());
  BOOST_TEST((*cards == Cards{" two words, \tand more", "mine", "", "card 3 x"}));
  BOOST_TEST(launcher.heard() == "card mine\n");
  BOOST_TEST(boot->deaths().empty());
}

BOOST_AUTO_TEST_CASE(exchanges_follow_each_other) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  launcher.say("card 0 a\ncard 1 b\ncard 0 c\ncard 1 d\n");
  BOOST_TEST((boot->exchange("a").value() == Cards{"a", "b"}));
  BOOST_TEST((boot->exchange("c").value() == Cards{"c", "d"}));
}

BOOST_AUTO_TEST_CASE(lines_may_come_in_pieces) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  const std::string longest(kCardBytesMax, 'x');
  std::thread other([&] {
    const std::string lines = "card 1 " + longest + "\ndeath 1\ncard 0 mine\n";
    for (const char& letter : lines) launcher.say({&letter, 1});
  });
  const auto cards = boot->exchange("mine");
  other.join();
  BOOST_REQUIRE(cards.has_value());
  BOOST_TEST((*cards == Cards{"mine", longest}));
  BOOST_TEST((boot->deaths() == Ranks{1}));
}

BOOST_AUTO_TEST_CASE(what_is_no_card_is_refused_before_anybody_hears_of_it) {
  BOOST_TEST(is_card(""));
  BOOST_TEST(is_card(std::string(kCardBytesMax, 'x')));
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  for (const std::string& text :
       {std::string("a\nleave"), std::string("\n"), std::string(kCardBytesMax + 1, 'x')}) {
    const auto cards = boot->exchange(text);
    BOOST_REQUIRE(!cards.has_value());
    BOOST_TEST(cards.error().error() == EINVAL);
  }
  BOOST_TEST(launcher.heard() == "");
}

BOOST_AUTO_TEST_CASE(lines_that_mean_nothing_end_an_exchange) {
  for (const char* const answer :
       {"\n", "card\n", "card \n", "card x\n", "card 2 x\n", "card -1 x\n", "card 1x x\n", "card  1 x\n",
        "card 99999999999 x\n", "card 1 a\ncard 1 a\n", "Card 1 a\n", "cards 1 a\n", "death\n", "death 2\n",
        "death 1 \n", "death -1\n", "death x\n", "job 1 000102030405060708090a0b0c0d0eff\n", "leave\n"})
    BOOST_TEST(error_of_exchange(answer) == EPROTO, answer);
  BOOST_TEST(error_of_exchange("card 1 " + std::string(20000, 'x')) == EPROTO);
}

BOOST_AUTO_TEST_CASE(exs_run_may_go_in_the_middle) {
  const std::string answer = "card 1 a\ndeath 1\ncard 0 mine\n";
  for (std::size_t length = 0; length < answer.size(); ++length)
    BOOST_TEST(error_of_exchange(answer.substr(0, length), true) == ECONNRESET);
  BOOST_TEST(error_of_exchange(answer, true) == 0);
}

BOOST_AUTO_TEST_CASE(an_exchange_with_nobody_is_told) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  launcher.go();
  const auto cards = boot->exchange("mine");
  BOOST_REQUIRE(!cards.has_value());
  BOOST_TEST(cards.error().error() == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(deaths_are_told_once_and_ring) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 4);
  BOOST_TEST(!is_readable(*boot));
  BOOST_TEST(boot->deaths().empty());
  launcher.say("death 3\ndeath 1\ndea");
  BOOST_TEST(is_readable(*boot));
  BOOST_TEST((boot->deaths() == Ranks{3, 1}));
  BOOST_TEST(!is_readable(*boot));
  launcher.say("th 2\n");
  BOOST_TEST(is_readable(*boot));
  BOOST_TEST((boot->deaths() == Ranks{2}));
  BOOST_TEST(boot->deaths().empty());
}

BOOST_AUTO_TEST_CASE(when_exs_run_has_gone_nobody_tells_any_more) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 4);
  launcher.say("death 3\ndeath 1");
  launcher.go();
  BOOST_TEST(is_readable(*boot));
  BOOST_TEST((boot->deaths() == Ranks{3}));
  BOOST_TEST(boot->descriptor() == -1);
  BOOST_TEST(boot->deaths().empty());
}

BOOST_AUTO_TEST_CASE(of_damage_no_more_is_read) {
  for (const char* const damage : {"death 4\n", "card 0 x\n", "\n", "death\n"}) {
    FalseLauncher launcher;
    const auto boot = launcher.boot(0, 4);
    launcher.say("death 2\n" + std::string(damage) + "death 1\n");
    BOOST_TEST((boot->deaths() == Ranks{2}));
    BOOST_TEST(boot->descriptor() == -1);
    BOOST_TEST(boot->deaths().empty());
  }
}

BOOST_AUTO_TEST_CASE(leaving_and_the_end_of_all_are_said) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  boot->abort(-2147483647 - 1);
  boot->abort(3);
  boot->leave();
  BOOST_TEST(launcher.heard() == "abort -2147483648\nabort 3\nleave\n");
}

BOOST_AUTO_TEST_CASE(giving_up_is_said_unless_one_has_left) {
  FalseLauncher launcher;
  { const auto boot = launcher.boot(0, 2); }
  BOOST_TEST(launcher.heard() == "lost\n");
  FalseLauncher other;
  other.boot(0, 2)->leave();
  BOOST_TEST(other.heard() == "leave\n");
}

BOOST_AUTO_TEST_CASE(to_nobody_they_are_said_in_vain) {
  FalseLauncher launcher;
  const auto boot = launcher.boot(0, 2);
  launcher.go();
  boot->abort(3);
  boot->leave();
  BOOST_TEST(boot->deaths().empty());
}

BOOST_AUTO_TEST_SUITE_END()
