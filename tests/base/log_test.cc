// The level is read once per process, so each case speaks in a child and the parent reads what it said.
#include "src/base/log.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <string>

#include <boost/test/unit_test.hpp>

#include "src/base/unique_fd.h"

using exs::log;
using exs::LogLevel;

namespace {

struct Said {
  std::string text;
  int wait_status = 0;
};

// Runs `body` in a child with EXS_LOG as given (nullptr: unset) and its standard error in a pipe.
Said child_says(const char* level, const std::function<void()>& body) {
  std::array<int, 2> ends{};
  BOOST_REQUIRE(::pipe(ends.data()) == 0);
  const exs::UniqueFd reading(ends[0]);
  exs::UniqueFd writing(ends[1]);
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Boost.Test would report an abort as its own failure
    ::dup2(writing.get(), STDERR_FILENO);
    if (level == nullptr) {
      ::unsetenv("EXS_LOG");
    } else {
      ::setenv("EXS_LOG", level, 1);
    }
    body();
    ::_exit(0);
  }
  writing.reset();
  Said said;
  std::array<char, 1024> piece{};
  for (ssize_t got = 0; (got = ::read(reading.get(), piece.data(), piece.size())) > 0;) {
    said.text.append(piece.data(), static_cast<std::size_t>(got));
  }
  BOOST_REQUIRE(::waitpid(child, &said.wait_status, 0) == child);
  return said;
}

void say_one_of_each() {
  log(LogLevel::kDebug, "a-debug-line");
  log(LogLevel::kInfo, "an-info-line");
  log(LogLevel::kWarn, "a-warn-line");
  log(LogLevel::kError, "an-error-line");
}

// How many of the four levels are heard.
int levels_heard(const char* level) {
  const std::string text = child_says(level, say_one_of_each).text;
  int heard = 0;
  for (const char* line : {"a-debug-line", "an-info-line", "a-warn-line", "an-error-line"}) {
    if (text.find(line) != std::string::npos) ++heard;
  }
  return heard;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_test)

BOOST_AUTO_TEST_CASE(warnings_and_errors_are_heard_by_default) {
  BOOST_TEST(levels_heard(nullptr) == 2);
}

BOOST_AUTO_TEST_CASE(environment_chooses_the_level) {
  BOOST_TEST(levels_heard("debug") == 4);
  BOOST_TEST(levels_heard("info") == 3);
  BOOST_TEST(levels_heard("warn") == 2);
  BOOST_TEST(levels_heard("error") == 1);
  BOOST_TEST(levels_heard("off") == 0);
}

BOOST_AUTO_TEST_CASE(a_level_nobody_knows_is_told_and_taken_as_warn) {
  const std::string text = child_says("loud", say_one_of_each).text;
  BOOST_TEST(text.find("EXS_LOG=loud") != std::string::npos);
  BOOST_TEST(text.find("a-warn-line") != std::string::npos);
  BOOST_TEST(text.find("an-info-line") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(line_says_who_and_how_bad_and_ends) {
  const std::string text =
      child_says("warn", [] { log(LogLevel::kWarn, "link {} to {}", 7, "10.0.0.2:9000"); }).text;
  BOOST_TEST(text.find(" exs warning: link 7 to 10.0.0.2:9000\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(braces_and_percents_in_arguments_are_plain_text) {
  const std::string text = child_says("warn", [] { log(LogLevel::kWarn, "{}", "{} {0} %s %n"); }).text;
  BOOST_TEST(text.find(": {} {0} %s %n\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(line_too_long_is_cut) {
  const std::string much(5000, 'x');
  const Said said = child_says("warn", [&] { log(LogLevel::kWarn, "{}", much); });
  // Expect: one line, shorter than what was asked for, and the child lives on.
  BOOST_TEST(said.wait_status == 0);
  BOOST_TEST(said.text.size() > 400U);
  BOOST_TEST(said.text.size() < 600U);
  BOOST_TEST(said.text.back() == '\n');
}

BOOST_AUTO_TEST_CASE(failed_check_says_what_and_where_and_aborts) {
  const Said said = child_says("off", [] { EXS_CHECK(1 + 1 == 3); });
  BOOST_TEST(WIFSIGNALED(said.wait_status));
  BOOST_TEST(WTERMSIG(said.wait_status) == SIGABRT);
  BOOST_TEST(said.text.find("1 + 1 == 3") != std::string::npos);
  BOOST_TEST(said.text.find("log_test.cc") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(check_that_holds_says_nothing) {
  const Said said = child_says("debug", [] { EXS_CHECK(1 + 1 == 2); });
  BOOST_TEST(said.wait_status == 0);
  BOOST_TEST(said.text.empty());
}

BOOST_AUTO_TEST_SUITE_END()
