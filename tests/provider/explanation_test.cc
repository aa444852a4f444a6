// What is said of a connection: on standard error, and as EXS_SO_REASON has it.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/explanation.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <string>

#include <exs/exs.h>
#include <boost/test/unit_test.hpp>

#include "base/unique_fd.h"
#include "src/api/reasons.h"

using exs::Explanation;
using exs::Reason;
using exs::ReasonCode;

namespace explanation_test {

Explanation limited_shm() {
  Explanation explanation;
  explanation.used("shm");
  explanation.limited("shm", Reason::make(ReasonCode::kNoPtrace, "process %d: EPERM", 4711));
  explanation.refused("iwarp", {ReasonCode::kNotNeeded, {}}, true);
  return explanation;
}

// The environment is read once a process, so each case speaks in a child of its own.
std::string told(const char* wish, const Explanation& explanation, int error) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe(ends.data()) == 0);
  const exs::UniqueFd reading(ends[0]);
  exs::UniqueFd writing(ends[1]);
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(writing.get(), STDERR_FILENO);
    wish == nullptr ? ::unsetenv("EXS_EXPLAIN") : ::setenv("EXS_EXPLAIN", wish, 1);
    exs::tell(explanation, "socket 7 to 127.0.0.1:4711", error);
    ::_exit(0);
  }
  writing.reset();
  std::string text;
  std::array<char, 1024> piece{};
  for (ssize_t got = 0; (got = ::read(reading.get(), piece.data(), piece.size())) > 0;) {
    text.append(piece.data(), static_cast<std::size_t>(got));
  }
  BOOST_REQUIRE(::waitpid(child, nullptr, 0) == child);
  return text;
}

}  // namespace explanation_test

BOOST_AUTO_TEST_SUITE(explanation_test)

BOOST_AUTO_TEST_CASE(block_says_verdict_reason_fact_and_cure) {
  const std::string expected = std::string("exs: socket 7 to 127.0.0.1:4711: connected\n") +
                               "exs:   shm      used\n"
                               "exs:   shm      limited  no-ptrace: process 4711: EPERM\n"
                               "exs:                     cure: " +
                               exs::reason_cure(ReasonCode::kNoPtrace) +
                               "\n"
                               "exs:   iwarp    refused  not-needed (says the peer)\n"
                               "exs:                     cure: " +
                               exs::reason_cure(ReasonCode::kNotNeeded) + "\n";
  BOOST_TEST(told("1", limited_shm(), 0) == expected);
}

BOOST_AUTO_TEST_CASE(failure_is_named) {
  const std::string text = told("1", limited_shm(), ENOTSUP);
  BOOST_TEST(text.find("failed: Operation not supported\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(every_word_for_yes_asks) {
  for (const char* yes : {"yes", "on", "true"}) BOOST_TEST(!told(yes, limited_shm(), 0).empty());
  for (const char* no : {"no", "off", "false", ""}) BOOST_TEST(told(no, limited_shm(), 0).empty());
}

BOOST_AUTO_TEST_CASE(nothing_is_said_unasked) {
  BOOST_TEST(told(nullptr, limited_shm(), 0).empty());
  BOOST_TEST(told("0", limited_shm(), 0).empty());
}

BOOST_AUTO_TEST_CASE(findings_beyond_the_most_are_dropped) {
  Explanation explanation;
  for (int i = 0; i < 40; ++i) explanation.used("shm");
  BOOST_TEST(explanation.findings().size() == std::size_t{EXS_REASONS_MAX});
}

BOOST_AUTO_TEST_CASE(control_characters_of_a_peer_reach_no_terminal) {
  Explanation explanation;
  explanation.refused("shm", Reason::make(ReasonCode::kFailed, "a\033[2Jb\nc\xff%%"), true);
  BOOST_TEST(std::string(explanation.findings()[0].reason.fact) == "a?[2Jb?c?%%");
}

BOOST_AUTO_TEST_CASE(option_has_every_field) {
  exs_reason_t reasons[EXS_REASONS_MAX];
  socklen_t length = sizeof reasons;
  BOOST_REQUIRE(exs::put_reasons(limited_shm(), reasons, &length).ok());
  BOOST_REQUIRE(length == 3 * sizeof(exs_reason_t));
  BOOST_TEST(reasons[0].provider == "shm");
  BOOST_TEST(reasons[0].verdict == int{EXS_VERDICT_USED});
  BOOST_TEST(reasons[0].code == 0);
  BOOST_TEST(reasons[0].cure == "");
  BOOST_TEST(reasons[1].verdict == int{EXS_VERDICT_LIMITED});
  BOOST_TEST(reasons[1].code == int{EXS_REASON_NO_PTRACE});
  BOOST_TEST(reasons[1].name == "no-ptrace");
  BOOST_TEST(reasons[1].fact == "process 4711: EPERM");
  BOOST_TEST(reasons[1].cure == exs::reason_cure(ReasonCode::kNoPtrace));
  BOOST_TEST(reasons[1].told_by_peer == 0);
  BOOST_TEST(reasons[2].provider == "iwarp");
  BOOST_TEST(reasons[2].told_by_peer == 1);
}

BOOST_AUTO_TEST_CASE(room_for_some_gets_whole_entries_and_learns_how_much_all_need) {
  exs_reason_t reasons[2] = {};
  reasons[1].verdict = 77;
  socklen_t length = sizeof(exs_reason_t) + 100;
  BOOST_REQUIRE(exs::put_reasons(limited_shm(), reasons, &length).ok());
  BOOST_TEST(length == 3 * sizeof(exs_reason_t));
  BOOST_TEST(reasons[0].verdict == int{EXS_VERDICT_USED});
  BOOST_TEST(reasons[1].verdict == 77);
}

BOOST_AUTO_TEST_CASE(room_for_none_is_an_error_unless_there_is_none) {
  exs_reason_t reason{};
  socklen_t length = sizeof reason - 1;
  BOOST_TEST(exs::put_reasons(limited_shm(), &reason, &length).error() == EINVAL);
  BOOST_TEST(length == sizeof reason - 1);
  BOOST_TEST(exs::put_reasons({}, &reason, &length).ok());
  BOOST_TEST(length == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
