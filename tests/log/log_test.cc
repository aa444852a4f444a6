// The level is read once per process, so each case speaks in a child and the parent reads what it said.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/log/log.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>

#include <boost/test/unit_test.hpp>

#include "base/check.h"
#include "base/log_limit.h"
#include "base/unique_fd.h"

using exs::log;
using exs::LogLevel;

namespace log_test {

struct Said {
  std::string text;
  int wait_status = 0;
};

// Who reads what the child writes while it runs. Of what kChild leaves, the parent reads the rest.
enum class Reader { kParent, kChild };

// Runs `body` in a child with EXS_LOG as given (nullptr: unset) and its standard error in a pipe, whose reading end it is
// given.
Said child_says(const char* level, const std::function<void(int)>& body, Reader reader = Reader::kParent) {
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
    body(reading.get());
    ::_exit(0);
  }
  writing.reset();
  Said said;
  if (reader == Reader::kChild) BOOST_REQUIRE(::waitpid(child, &said.wait_status, 0) == child);
  std::array<char, 1024> piece{};
  for (ssize_t got = 0; (got = ::read(reading.get(), piece.data(), piece.size())) > 0;) {
    said.text.append(piece.data(), static_cast<std::size_t>(got));
  }
  if (reader == Reader::kParent) BOOST_REQUIRE(::waitpid(child, &said.wait_status, 0) == child);
  return said;
}

void say_one_of_each(int /*reading_end*/) {
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

}  // namespace log_test

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

// exs_init refuses it.
BOOST_AUTO_TEST_CASE(a_level_nobody_knows_is_taken_as_warn) {
  BOOST_TEST(levels_heard("loud") == 2);
  BOOST_TEST(levels_heard("") == 2);
}

// Writes what it is given to the standard error, framed.
void frame(int level, const char* line, void* context) {
  std::fprintf(stderr, "<%s %d %s>", static_cast<const char*>(context), level, line);
}

BOOST_AUTO_TEST_CASE(a_callback_gets_the_lines_of_its_level_and_worse) {
  static char name[] = "mine";
  const std::string text = child_says("off", [](int reading_end) {
                             exs::set_log(frame, name, LogLevel::kInfo);
                             say_one_of_each(reading_end);
                             exs::set_log(nullptr, nullptr, LogLevel::kError);
                             say_one_of_each(reading_end);
                           }).text;
  constexpr std::string_view kFramed = "<mine 3 an-info-line><mine 2 a-warn-line><mine 1 an-error-line>";
  BOOST_TEST(text.substr(0, kFramed.size()) == kFramed);
  BOOST_TEST(text.substr(kFramed.size()).find("exs error: an-error-line\n") != std::string::npos);
  BOOST_TEST(text.find("exs warning") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_line_that_is_too_long_for_a_callback_is_cut) {
  const std::string much(5000, 'x');
  static char name[] = "mine";
  const Said said = child_says("off", [&](int) {
    exs::set_log(frame, name, LogLevel::kError);
    log(LogLevel::kError, "{}", much);
  });
  BOOST_TEST(said.wait_status == 0);
  BOOST_TEST(said.text.size() > 400U);
  BOOST_TEST(said.text.back() == '>');
}

BOOST_AUTO_TEST_CASE(the_line_of_a_fault_is_kept_whatever_the_level_is) {
  const std::string text =
      child_says("off", [](int) {
        const exs::Status first = exs::fault(LogLevel::kWarn, EPROTO, "peer {} broke a rule", 1);
        std::array<char, 64> room{};
        std::size_t length = exs::text_of_fault(first, room);
        std::fprintf(stderr, "%d [%.*s]", first.error() == EPROTO, static_cast<int>(length), room.data());
        // Expect: later ones take its place, and nobody else's words are told for its own.
        for (int i = 0; i < 100; ++i) {
          [[maybe_unused]] const auto other = exs::fault(LogLevel::kWarn, EPROTO, "another");
        }
        length = exs::text_of_fault(first, room);
        std::fprintf(stderr, "[%zu]", length);
      }).text;
  BOOST_TEST(text == "1 [peer 1 broke a rule][0]");
}

BOOST_AUTO_TEST_CASE(line_says_who_and_how_bad_and_ends) {
  const std::string text =
      child_says("warn", [](int) { log(LogLevel::kWarn, "link {} to {}", 7, "10.0.0.2:9000"); }).text;
  BOOST_TEST(text.find(" exs warning: link 7 to 10.0.0.2:9000\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(braces_and_percents_in_arguments_are_plain_text) {
  const std::string text = child_says("warn", [](int) { log(LogLevel::kWarn, "{}", "{} {0} %s %n"); }).text;
  BOOST_TEST(text.find(": {} {0} %s %n\n") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(line_too_long_is_cut) {
  const std::string much(5000, 'x');
  const Said said = child_says("warn", [&](int) { log(LogLevel::kWarn, "{}", much); });
  // Expect: one line, shorter than what was asked for, and the child lives on.
  BOOST_TEST(said.wait_status == 0);
  BOOST_TEST(said.text.size() > 400U);
  BOOST_TEST(said.text.size() < 600U);
  BOOST_TEST(said.text.back() == '\n');
}

// Four lines in a row of each of two causes, `rounds` times.
void give_cause(int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (int line = 0; line < 4; ++line) log(LogLevel::kWarn, "peer {} sent nonsense", i);
    for (int line = 0; line < 4; ++line) log(LogLevel::kError, "peer {} broke a rule", i);
  }
}

std::size_t count_of(std::string_view words, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = text.find(words); at != text.npos; at = text.find(words, at + 1)) ++count;
  return count;
}

BOOST_AUTO_TEST_CASE(each_cause_has_its_lines_and_the_rest_is_counted) {
  const std::string text = child_says("warn", [](int) {
                             give_cause(500);
                             log(LogLevel::kWarn, "another matter");
                             exs::tell_left_out();
                             log(LogLevel::kWarn, "peer {} sent nonsense", "x");
                           }).text;
  BOOST_TEST(count_of("sent nonsense\n", text) == exs::LogLimit::kLinesAWindow + 2);
  BOOST_TEST(count_of("broke a rule\n", text) == exs::LogLimit::kLinesAWindow + 1);
  BOOST_TEST(count_of("1992 more lines were left out: peer {} sent nonsense\n", text) == 1U);
  BOOST_TEST(count_of("1992 more lines were left out: peer {} broke a rule\n", text) == 1U);
  BOOST_TEST(count_of("another matter", text) == 1U);
}

BOOST_AUTO_TEST_CASE(what_was_left_out_is_told_by_the_first_line_after_its_time) {
  exs::LogLimit limit;
  exs::LogLimit::LeftOut before;
  constexpr std::uint64_t kBegun = 77;
  for (unsigned i = 0; i < exs::LogLimit::kLinesAWindow + 5; ++i)
    BOOST_TEST(limit.admit("cause", kBegun + i, before) == (i < exs::LogLimit::kLinesAWindow));
  BOOST_TEST(!limit.admit("cause", kBegun + exs::LogLimit::kWindowNs - 1, before));
  BOOST_TEST(limit.admit("another", kBegun + exs::LogLimit::kWindowNs - 1, before));
  BOOST_TEST(before.lines == 0U);
  BOOST_TEST(limit.admit("cause", kBegun + exs::LogLimit::kWindowNs, before));
  BOOST_TEST(before.lines == 6U);
  BOOST_TEST(limit.admit("cause", kBegun + exs::LogLimit::kWindowNs + 1, before));
  BOOST_TEST(before.lines == 0U);
  BOOST_TEST(limit.clear().empty());
}

BOOST_AUTO_TEST_CASE(no_line_ends_a_program_whose_reader_is_gone) {
  const Said said = child_says("warn", [](int) {
    std::signal(SIGPIPE, SIG_DFL);
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) ::_exit(1);
    const exs::UniqueFd writing(ends[1]);
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    log(LogLevel::kWarn, "nobody reads this");
    // Expect: the program's own writes are what they were.
    sigset_t blocked;
    pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
    ::_exit(sigismember(&blocked, SIGPIPE) == 0 ? 7 : 1);
  });
  BOOST_TEST(WIFEXITED(said.wait_status));
  BOOST_TEST(WEXITSTATUS(said.wait_status) == 7);
}

BOOST_AUTO_TEST_CASE(no_line_waits_for_a_reader_and_what_is_lost_is_told_when_there_is_one) {
  // Expect: the child comes to its end; its standard error is full before it reads it itself.
  const Said said = child_says(
      "info",
      [](int its_reading_end) {
        ::alarm(60);
        for (int i = 0; i < 5'000; ++i) log(LogLevel::kInfo, "{}", std::string(400, 'x'));
        std::array<char, 4096> piece{};
        for (pollfd filled{its_reading_end, POLLIN, 0}; ::poll(&filled, 1, 0) == 1;) {
          if (::read(its_reading_end, piece.data(), piece.size()) < 0) ::_exit(1);
        }
        log(LogLevel::kInfo, "at last");
      },
      Reader::kChild);
  BOOST_TEST(said.wait_status == 0);
  BOOST_TEST(count_of(" lines are lost", said.text) == 1U);
  BOOST_TEST(count_of("at last\n", said.text) == 1U);
}

BOOST_AUTO_TEST_CASE(failed_check_says_what_and_where_and_aborts) {
  const Said said = child_says("off", [](int) { EXS_CHECK(1 + 1 == 3); });
  BOOST_TEST(WIFSIGNALED(said.wait_status));
  BOOST_TEST(WTERMSIG(said.wait_status) == SIGABRT);
  BOOST_TEST(said.text.find("1 + 1 == 3") != std::string::npos);
  BOOST_TEST(said.text.find("log_test.cc") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(check_that_holds_says_nothing) {
  const Said said = child_says("debug", [](int) { EXS_CHECK(1 + 1 == 2); });
  BOOST_TEST(said.wait_status == 0);
  BOOST_TEST(said.text.empty());
}

BOOST_AUTO_TEST_SUITE_END()
