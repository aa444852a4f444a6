// The texts of EXS_SOCKETS and EXS_SHM_USERS.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <string>

#include "sockets/settings/settings.h"
#include "tests/support/property.h"

namespace settings_test {

using exs::sockets::AllowedUsers;
using exs::sockets::parse_settings;
using exs::sockets::SocketsSettings;

SocketsSettings parsed(std::string_view text, std::string_view users = "") {
  std::string_view complaint;
  const SocketsSettings settings = parse_settings(text, users, complaint);
  BOOST_TEST(complaint == "");
  return settings;
}

std::string_view complaint_about(std::string_view text, std::string_view users = "") {
  std::string_view complaint;
  parse_settings(text, users, complaint);
  return complaint;
}

}  // namespace settings_test

BOOST_FIXTURE_TEST_SUITE(settings_test, exs::test::PropertyDefaults)

BOOST_AUTO_TEST_CASE(nothing_is_the_default) {
  const SocketsSettings settings = parsed("");
  BOOST_TEST(settings.on);
  BOOST_TEST(settings.spin_auto);
  BOOST_TEST(settings.ring_bytes == 0U);
  BOOST_TEST(settings.after == 4U);
  BOOST_TEST(settings.users.allow(1000, 1000));
  BOOST_TEST(!settings.users.allow(1000, 1001));
}

BOOST_AUTO_TEST_CASE(words_are_taken_in_turn) {
  const SocketsSettings settings =
      parsed("ring=4k,spin=20us,wait=kernel,after=1,after-bytes=1M,turn=100,off,on");
  BOOST_TEST(settings.on);
  BOOST_TEST(settings.ring_bytes == 4096U);
  BOOST_TEST(!settings.spin_auto);
  BOOST_TEST(settings.spin_us == 20U);
  BOOST_TEST(settings.kernel_waits);
  BOOST_TEST(settings.after == 1U);
  BOOST_TEST(settings.after_bytes == 1024U * 1024);
  BOOST_TEST(settings.turn_every == 100U);
  BOOST_TEST(!parsed("off").on);
  BOOST_TEST(parsed("spin=0").spin_us == 0U);
  BOOST_TEST(parsed("spin=2ms").spin_us == 2000U);
  BOOST_TEST(parsed("agent=7").agent_port == 7U);
  BOOST_TEST(!parsed("local=off").local);
  BOOST_TEST(parsed("path=any").any_path);
  BOOST_TEST((parsed("between=on").between == SocketsSettings::Between::kOn));
  BOOST_TEST((parsed("between=off").between == SocketsSettings::Between::kOff));
}

BOOST_AUTO_TEST_CASE(a_word_that_means_nothing_is_told_and_left_out) {
  for (const char* word : {"ring=5k",
                           "ring=2k",
                           "ring=32M",
                           "ring=",
                           "ring",
                           "spin=20",
                           "spin=2s",
                           "spin=9999999us",
                           "wait=long",
                           "after=0",
                           "after=1001",
                           "after=x",
                           "turn=0",
                           "colour=red",
                           "=1",
                           "on=1",
                           "99999999999999999999=1",
                           "ring=99999999999999999999",
                           "ring=4096M",
                           "agent=0",
                           "agent=65536",
                           "between=yes",
                           "local=",
                           "path=tcp"}) {
    BOOST_TEST(complaint_about(word) == word);
    BOOST_TEST(complaint_about(std::string("after=2,") + word + ",turn=3") == word);
  }
}

BOOST_AUTO_TEST_CASE(users_are_those_named) {
  const AllowedUsers some = parsed("", "33,same").users;
  BOOST_TEST(some.allow(33, 1000));
  BOOST_TEST(some.allow(1000, 1000));
  BOOST_TEST(!some.allow(34, 1000));
  BOOST_TEST(!parsed("", "33").users.allow(1000, 1000));
  BOOST_TEST(parsed("", "any").users.allow(1, 2));
  BOOST_TEST(complaint_about("", "root") == "root");
  BOOST_TEST(complaint_about("", "4294967295") == "4294967295");
  BOOST_TEST(complaint_about("", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17") == "17");
}

BOOST_AUTO_TEST_CASE(no_text_gives_a_ring_that_cannot_be) {
  BOOST_TEST(exs::test::holds("any text", [] {
    std::string text;
    for (const std::uint8_t byte : exs::test::draw_bytes()) text.push_back(static_cast<char>(byte));
    if (exs::test::draw_bool()) text.insert(0, "ring=");
    std::string_view complaint;
    const SocketsSettings settings = parse_settings(text, text, complaint);
    EXS_HOLD(settings.ring_bytes == 0 || (settings.ring_bytes >= 4096 && settings.ring_bytes <= 16U << 20));
    EXS_HOLD((settings.ring_bytes & (settings.ring_bytes - 1)) == 0);
    EXS_HOLD(settings.after >= 1 && settings.users.count <= AllowedUsers::kIdsMax);
  }));
}

BOOST_AUTO_TEST_SUITE_END()
