#include "tests/mistakes/report.h"

#include <algorithm>
#include <cstdio>

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
