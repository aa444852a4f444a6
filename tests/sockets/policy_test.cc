// The rules of sockets.conf.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "sockets/settings/policy.h"
#include "tests/support/property.h"

namespace policy_test {

using exs::sockets::BadLines;
using exs::sockets::Environment;
using exs::sockets::matches_glob;
using exs::sockets::name_of_path;
using exs::sockets::parse_pattern;
using exs::sockets::parse_policy;
using exs::sockets::Pattern;
using exs::sockets::Policy;
using exs::sockets::ProgramNames;
using exs::sockets::RuleAddress;
using exs::sockets::RuledConnection;
using exs::sockets::Side;
using exs::sockets::SocketsSettings;

constexpr ProgramNames kServer{"redis-server", "redis-check-rdb"};

Policy policy_of(std::string_view text, const Environment& environment = {},
                 const ProgramNames& program = kServer) {
  Policy policy;
  BadLines bad;
  parse_policy(text, program, environment, policy, bad);
  BOOST_TEST(bad.count == 0U);
  return policy;
}

BadLines bad_lines_of(std::string_view text) {
  Policy policy;
  BadLines bad;
  parse_policy(text, kServer, {}, policy, bad);
  return bad;
}

// A plain address, which patterns consist of, too.
RuleAddress address_of(std::string_view text) {
  Pattern pattern;
  BOOST_TEST(parse_pattern(text, pattern));
  return pattern.address;
}

const SocketsSettings& settings_of(const Policy& policy, Side side, std::string_view peer,
                                   std::uint16_t port) {
  return policy.settings_at(policy.find({side, address_of(peer), port}));
}

// A rule with the pattern fits the peer.
bool matches(std::string_view pattern, std::string_view peer, std::uint16_t port = 80) {
  const Policy policy = policy_of("* connect " + std::string(pattern) + " off");
  return policy.find({Side::kConnect, address_of(peer), port}) < policy.count;
}

}  // namespace policy_test

BOOST_FIXTURE_TEST_SUITE(policy_test, exs::test::PropertyDefaults)

BOOST_AUTO_TEST_CASE(globs_have_stars_and_question_marks) {
  BOOST_TEST(matches_glob("*", ""));
  BOOST_TEST(matches_glob("", ""));
  BOOST_TEST(matches_glob("redis-*", "redis-server"));
  BOOST_TEST(matches_glob("*s*s*", "redis-server"));
  BOOST_TEST(matches_glob("python3.??", "python3.11"));
  BOOST_TEST(matches_glob("**a", "ba"));
  BOOST_TEST(!matches_glob("?", ""));
  BOOST_TEST(!matches_glob("redis", "redis-server"));
  BOOST_TEST(!matches_glob("redis-server?", "redis-server"));
  BOOST_TEST(!matches_glob("*x", "redis-server"));
  BOOST_TEST(!matches_glob(std::string(1000, '*').append(1, 'b'), std::string(1000, 'a')));
}

BOOST_AUTO_TEST_CASE(no_file_gives_the_defaults_and_the_environment) {
  BOOST_TEST(policy_of("").is_on());
  BOOST_TEST(!policy_of("", {"off", ""}).is_on());
  BOOST_TEST(policy_of("", {"ring=4k", "33"}).rest.ring_bytes == 4096U);
  BOOST_TEST(policy_of("", {"ring=4k", "33"}).rest.users.allow(33, 1));
}

BOOST_AUTO_TEST_CASE(the_lines_of_the_design) {
  constexpr std::string_view kText =
      "# program      side    peer or port     what\n"
      "redis-server   listen  *:6379           on spin=20us\n"
      "*              *       *:22             off\n"
      "postgres       *       127.0.0.0/8      on users=same,33 ring=1M wait=kernel after=16\n";
  const Policy redis = policy_of(kText);
  BOOST_TEST(redis.count == 2U);
  BOOST_TEST(settings_of(redis, Side::kListen, "10.0.0.1", 6379).spin_us == 20U);
  BOOST_TEST(settings_of(redis, Side::kConnect, "10.0.0.1", 6379).spin_auto);
  BOOST_TEST(!settings_of(redis, Side::kListen, "10.0.0.1", 22).on);
  BOOST_TEST(!settings_of(redis, Side::kConnect, "::1", 22).on);
  BOOST_TEST(settings_of(redis, Side::kConnect, "::1", 23).on);
  BOOST_TEST(!redis.may_accept(22));
  BOOST_TEST(redis.may_accept(6379));

  const Policy postgres = policy_of(kText, {}, {"postgres", "postgres"});
  BOOST_TEST(postgres.count == 2U);
  const SocketsSettings& inside = settings_of(postgres, Side::kListen, "127.1.2.3", 5432);
  BOOST_TEST(inside.kernel_waits);
  BOOST_TEST(inside.after == 16U);
  BOOST_TEST(inside.ring_bytes == 1U << 20);
  BOOST_TEST(inside.users.allow(33, 1000));
  BOOST_TEST(inside.users.allow(1000, 1000));
  BOOST_TEST(!settings_of(postgres, Side::kListen, "128.0.0.1", 5432).kernel_waits);
}

BOOST_AUTO_TEST_CASE(the_first_line_that_fits_counts) {
  const Policy policy =
      policy_of("* listen *:80 after=2\n* * *:80 after=3,off\n\n* * * after=5\n* * *:81 off\n");
  BOOST_TEST(policy.count == 2U);
  BOOST_TEST(policy.rest_line == 4U);
  BOOST_TEST(policy.rules[1].line == 2U);
  BOOST_TEST(settings_of(policy, Side::kListen, "::1", 80).after == 2U);
  BOOST_TEST(settings_of(policy, Side::kConnect, "::1", 80).after == 3U);
  BOOST_TEST(settings_of(policy, Side::kConnect, "::1", 81).after == 5U);
  BOOST_TEST(policy.is_on());
}

BOOST_AUTO_TEST_CASE(all_off_but_one) {
  const Policy policy = policy_of("redis-* listen *:6379 on\n* * * off");
  BOOST_TEST(policy.is_on());
  BOOST_TEST(policy.may_accept(6379));
  BOOST_TEST(!policy.may_accept(6380));
  BOOST_TEST(!settings_of(policy, Side::kConnect, "127.0.0.1", 6379).on);
  BOOST_TEST(!policy_of("* * * off").is_on());
}

BOOST_AUTO_TEST_CASE(some_peers_make_a_port_worth_announcing) {
  const Policy policy =
      policy_of("* connect *:80 on\n* listen 10.0.0.1:80 on\n* * *:80 off\n* listen *:80 on\n");
  BOOST_TEST(policy.may_accept(80));
  BOOST_TEST(policy_of("* listen 10.0.0.1:80 off").may_accept(80));
  BOOST_TEST(!policy_of("* connect *:80 on\n* listen *:80 off").may_accept(80));
}

BOOST_AUTO_TEST_CASE(the_environment_goes_before_word_by_word) {
  constexpr std::string_view kText = "* * *:22 off\n* * * ring=4k users=33 after=2\n";
  const Policy words = policy_of(kText, {"ring=8k", ""});
  BOOST_TEST(words.rest.ring_bytes == 8192U);
  BOOST_TEST(words.rest.after == 2U);
  BOOST_TEST(words.rest.users.allow(33, 1));
  BOOST_TEST(!settings_of(words, Side::kConnect, "::1", 22).on);
  const Policy on = policy_of(kText, {"on", "44"});
  BOOST_TEST(settings_of(on, Side::kConnect, "::1", 22).on);
  BOOST_TEST(!on.rest.users.allow(33, 1));
  BOOST_TEST(on.rest.users.allow(44, 1));
  BOOST_TEST(!policy_of("* * *:22 on", {"off", ""}).is_on());
}

BOOST_AUTO_TEST_CASE(programs_are_known_by_link_and_by_file) {
  BOOST_TEST(!policy_of("redis-server * * off").is_on());
  BOOST_TEST(!policy_of("redis-check-* * * off").is_on());
  BOOST_TEST(policy_of("redis * * off").is_on());
  BOOST_TEST(name_of_path("/usr/bin/redis-server") == "redis-server");
  BOOST_TEST(name_of_path("redis-server") == "redis-server");
  BOOST_TEST(name_of_path("/") == "");
}

BOOST_AUTO_TEST_CASE(addresses_and_prefixes) {
  BOOST_TEST(matches("10.0.0.1", "10.0.0.1"));
  BOOST_TEST(!matches("10.0.0.1", "10.0.0.2"));
  BOOST_TEST(matches("10.0.0.0/31", "10.0.0.1"));
  BOOST_TEST(!matches("10.0.0.0/31", "10.0.0.2"));
  BOOST_TEST(matches("0.0.0.0/0", "192.168.1.1"));
  BOOST_TEST(!matches("0.0.0.0/0", "::1"));
  BOOST_TEST(!matches("::/0", "192.168.1.1"));
  BOOST_TEST(matches("::/0", "2001:db8::1"));
  BOOST_TEST(matches("10.1.2.3", "::ffff:10.1.2.3"));
  BOOST_TEST(matches("::ffff:10.1.0.0/112", "10.1.2.3"));
  BOOST_TEST(matches("2001:db8::/33", "2001:db8:7fff::1"));
  BOOST_TEST(!matches("2001:db8::/33", "2001:db8:8000::1"));
  BOOST_TEST(matches("[::1]:80", "::1"));
  BOOST_TEST(!matches("[::1]:81", "::1"));
  BOOST_TEST(matches("[fe80::]/10:80", "fe80::1"));
  BOOST_TEST(matches("10.0.0.0/8:80", "10.0.0.1"));
  BOOST_TEST(!matches("10.0.0.0/8:81", "10.0.0.1"));
  BOOST_TEST(matches("*:80", "::1"));
  BOOST_TEST(matches("*", "::1"));
}

BOOST_AUTO_TEST_CASE(what_is_no_pattern) {
  for (const char* text : {"",
                           "**",
                           "*:",
                           "*:0",
                           "*:65536",
                           "*:x",
                           "*:80x",
                           "*/8",
                           "10.0.0",
                           "10.0.0.1:",
                           "10.0.0.1/33",
                           "10.0.0.1/",
                           "10.0.0.1/x",
                           "10.0.0.1/8/8",
                           "10.0.0.1:80:80",
                           "::1:80:",
                           "[::1",
                           "[::1]80",
                           "[::1]/129",
                           "[10.0.0.1]:80",
                           "::1/64:80",
                           "fe80::1%lo",
                           "host:80",
                           ":80",
                           "[]",
                           "[]:80",
                           "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"}) {
    Pattern pattern;
    BOOST_TEST(!parse_pattern(text, pattern), text);
  }
}

BOOST_AUTO_TEST_CASE(a_bad_line_is_told_by_number_and_passed_over) {
  constexpr std::string_view kText =
      "* sideways *:80 off\n"
      "* * *:x off\n"
      "*\n"
      "* * *:80\n"
      "* * *:80 off ring=3\n"
      "* * *:80 users=me\n"
      "* * *:80 users=\n"
      "postgres sideways *:x colour=red\n"
      "  # a remark\n"
      "* * *:81 off # a remark\r\n";
  const BadLines bad = bad_lines_of(kText);
  BOOST_REQUIRE(bad.count == 7U);
  const std::vector<std::string_view> words = {"sideways", "*:x", "", "", "ring=3", "users=me", "users="};
  for (std::uint32_t i = 0; i < bad.count; ++i) {
    BOOST_TEST(bad.lines[i].number == i + 1);
    BOOST_TEST(bad.lines[i].word == words[i]);
    BOOST_TEST(std::strlen(bad.lines[i].cause) > 0U);
  }
  Policy policy;
  BadLines again;
  parse_policy(kText, kServer, {}, policy, again);
  BOOST_TEST(policy.count == 1U);
  BOOST_TEST(policy.rules[0].line == 10U);
}

BOOST_AUTO_TEST_CASE(there_is_an_end_to_rules_and_to_complaints) {
  std::string text;
  for (int port = 1; port <= 50; ++port) text += "* * *:" + std::to_string(port) + " off\n";
  Policy policy;
  BadLines bad;
  parse_policy(text + "* * * after=7", kServer, {}, policy, bad);
  BOOST_TEST(policy.count == Policy::kRulesMax);
  BOOST_TEST(policy.rest.after == 7U);
  BOOST_TEST(bad.count == BadLines::kLinesMax);
  BOOST_TEST(bad.lines[0].number == Policy::kRulesMax + 1);
  BOOST_TEST(bad.count + bad.left_out == 50 - Policy::kRulesMax);
}

BOOST_AUTO_TEST_CASE(any_bytes_end_in_rules_or_in_complaints) {
  // Pieces of lines in any order get further than random bytes do.
  const std::vector<std::string> pieces = {"*",      " ",      "\n",   "listen", "connect", ":80", "10.0.0.1",
                                           "/8",     "[",      "::1",  "]",      "on",      "off", "ring=4k",
                                           "users=", "same",   ",",    "#",      "\t",      "\r",  "redis-",
                                           "?",      "* * * ", "/129", ":0",     "\0x",     "off", "* * "};
  BOOST_TEST(exs::test::holds("any text", [&] {
    std::string text;
    for (const std::uint8_t byte : exs::test::draw_bytes()) {
      if (byte < 200) {
        text += pieces[byte % pieces.size()];
      } else {
        text.push_back(static_cast<char>(byte));
      }
    }
    Policy policy;
    BadLines bad;
    parse_policy(text, kServer, {}, policy, bad);
    EXS_HOLD(policy.count <= Policy::kRulesMax && bad.count <= BadLines::kLinesMax);
    for (std::uint32_t i = 0; i < policy.count; ++i) {
      EXS_HOLD(policy.rules[i].pattern.prefix_bits <= 128);
      EXS_HOLD(policy.rules[i].line > (i == 0 ? 0 : policy.rules[i - 1].line));
      EXS_HOLD(policy.rules[i].settings.ring_bytes == 0 || policy.rules[i].settings.ring_bytes >= 4096);
    }
    const RuledConnection connection{Side::kListen, {}, exs::test::draw<std::uint16_t>()};
    EXS_HOLD(policy.find(connection) <= policy.count);
    EXS_HOLD(policy.is_on() || !policy.may_accept(connection.port));
  }));
}

BOOST_AUTO_TEST_SUITE_END()
