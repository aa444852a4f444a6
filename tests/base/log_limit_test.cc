// How many lines of a cause a log takes, and what becomes of the rest.
// SPDX-License-Identifier: BSD-2-Clause
#include "base/log_limit.h"

#include <algorithm>

#include <boost/test/unit_test.hpp>

using exs::LogLimit;

namespace log_limit_test {

constexpr std::uint64_t kStartNs = 5;

// How many of `lines` at a time are written.
unsigned written(LogLimit& limit, std::string_view cause, std::uint64_t now_ns, unsigned lines) {
  unsigned count = 0;
  for (unsigned i = 0; i < lines; ++i) {
    LogLimit::LeftOut before;
    if (limit.admit(cause, now_ns, before)) ++count;
    BOOST_TEST(before.lines == 0U);
    BOOST_TEST(before.cause == cause);
  }
  return count;
}

}  // namespace log_limit_test

BOOST_AUTO_TEST_SUITE(log_limit_test)

BOOST_AUTO_TEST_CASE(eight_lines_of_a_cause_are_written_in_a_window) {
  LogLimit limit;
  BOOST_TEST(written(limit, "one", kStartNs, 20) == LogLimit::kLinesAWindow);
  BOOST_TEST(written(limit, "one", kStartNs + LogLimit::kWindowNs - 1, 5) == 0U);
}

BOOST_AUTO_TEST_CASE(causes_do_not_share_their_lines) {
  LogLimit limit;
  BOOST_TEST(written(limit, "one", kStartNs, 9) == LogLimit::kLinesAWindow);
  BOOST_TEST(written(limit, "other", kStartNs, 9) == LogLimit::kLinesAWindow);
}

BOOST_AUTO_TEST_CASE(the_next_window_begins_with_how_many_were_left_out) {
  LogLimit limit;
  BOOST_TEST(written(limit, "one", kStartNs, LogLimit::kLinesAWindow + 3) == LogLimit::kLinesAWindow);
  LogLimit::LeftOut before;
  BOOST_TEST(limit.admit("one", kStartNs + LogLimit::kWindowNs, before));
  BOOST_TEST(before.lines == 3U);
  BOOST_TEST(before.cause == "one");
  // Reported once, and the new window has the rest of its lines.
  BOOST_TEST(written(limit, "one", kStartNs + LogLimit::kWindowNs, 20) == LogLimit::kLinesAWindow - 1);
}

BOOST_AUTO_TEST_CASE(a_window_lasts_from_its_first_line_on) {
  LogLimit limit;
  BOOST_TEST(written(limit, "one", kStartNs, 1) == 1U);
  BOOST_TEST(written(limit, "one", kStartNs + LogLimit::kWindowNs - 1, 20) == LogLimit::kLinesAWindow - 1);
}

BOOST_AUTO_TEST_CASE(clearing_returns_what_was_left_out_and_begins_anew) {
  LogLimit limit;
  written(limit, "one", kStartNs, LogLimit::kLinesAWindow + 2);
  written(limit, "other", kStartNs, LogLimit::kLinesAWindow + 1);
  written(limit, "third", kStartNs, LogLimit::kLinesAWindow);
  std::vector<LogLimit::LeftOut> left_out = limit.clear();
  std::sort(left_out.begin(), left_out.end(),
            [](const auto& one, const auto& other) { return one.lines < other.lines; });
  BOOST_REQUIRE(left_out.size() == 2U);
  BOOST_TEST(left_out[0].cause == "other");
  BOOST_TEST(left_out[0].lines == 1U);
  BOOST_TEST(left_out[1].cause == "one");
  BOOST_TEST(left_out[1].lines == 2U);
  BOOST_TEST(limit.clear().empty());
  BOOST_TEST(written(limit, "one", kStartNs, 9) == LogLimit::kLinesAWindow);
}

BOOST_AUTO_TEST_SUITE_END()
