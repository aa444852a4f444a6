// SPDX-License-Identifier: BSD-2-Clause
#include "tests/mistakes/report.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <boost/test/unit_test.hpp>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace {

struct Row {
  std::string mistake, outcome, sentence;
};

std::vector<Row>& rows() {
  static std::vector<Row> all;
  return all;
}

struct Report {
  ~Report() { print_report(); }
};
BOOST_TEST_GLOBAL_FIXTURE(Report);

// The text of a line of a page, without what is for the formatter. "": a paragraph ends.
std::string text_of(std::string line) {
  if (line.starts_with(".")) {
    const bool is_font = line.starts_with(".B") || line.starts_with(".I");
    line = is_font ? line.substr(std::min(line.size(), line.find(' ') + 1)) : "";
    std::erase(line, ' ');  // .BR and the like join what they name
  }
  return line;
}

}  // namespace

LogLines::LogLines() {
  exs_setlog(take, this, EXS_LOG_WARN);
}

LogLines::~LogLines() {
  exs_setlog(nullptr, nullptr, EXS_LOG_WARN);
}

std::string LogLines::with(std::string_view words) {
  const std::lock_guard guard(mutex_);
  for (const std::string& line : lines_) {
    if (line.find(words) != line.npos) return line;
  }
  return "";
}

std::size_t LogLines::count_with(std::string_view words) {
  const std::lock_guard guard(mutex_);
  return static_cast<std::size_t>(std::count_if(
      lines_.begin(), lines_.end(), [&](const auto& line) { return line.find(words) != line.npos; }));
}

void LogLines::take(int /*level*/, const char* line, void* self) {
  auto& lines = *static_cast<LogLines*>(self);
  const std::lock_guard guard(lines.mutex_);
  lines.lines_.emplace_back(line);
}

void told(std::string_view mistake, const std::string& outcome, const std::string& sentence,
          std::string_view words) {
  rows().push_back({std::string(mistake), outcome, sentence});
  BOOST_TEST_CONTEXT(mistake << ": " << outcome << ": " << sentence) {
    BOOST_TEST(!sentence.empty());
    BOOST_TEST((sentence.find(words) != sentence.npos));
  }
}

void told_by_call(std::string_view mistake, int result, std::string_view words) {
  const std::string named = outcome(result);
  BOOST_TEST_CONTEXT(mistake) BOOST_TEST(named != "ok");
  told(mistake, named, exs_errtext(), words);
}

std::string sentence_of(const std::string& page, std::string_view words) {
  std::ifstream lines(EXS_SOURCE_FOLDER "/man/" + page);
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    const std::string plain = text_of(line);
    text += plain.empty() ? ". " : plain + " ";
  }
  const std::size_t at = text.find(words);
  if (at == text.npos) return "";
  const std::size_t before = text.rfind(". ", at);
  const std::size_t begin = before == text.npos ? 0 : before + 2;
  return text.substr(begin, text.find(". ", at) + 1 - begin);
}

std::string error_text(int socket) {
  char text[512] = "";
  socklen_t length = sizeof text;
  BOOST_TEST(exs_getsockopt(socket, SOL_EXS, EXS_SO_ERROR_TEXT, text, &length) == 0);
  return text;
}

void print_report() {
  std::printf("\n%zu mistakes, and what is told of each\n", rows().size());
  for (const Row& row : rows())
    std::printf("%-46s | %-26s | %s\n", row.mistake.c_str(), row.outcome.c_str(), row.sentence.c_str());
}

}  // namespace exs::test
