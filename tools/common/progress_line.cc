// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/progress_line.h"

#include <unistd.h>

#include <cstdio>

#include "base/check.h"
#include "tools/common/units.h"

namespace tools {
namespace {

// A small number of parts is exact.
std::string count_in_words(std::uint64_t count) {
  constexpr std::uint64_t kExactMax = 9999;
  return count <= kExactMax ? std::to_string(count) : format_count(static_cast<double>(count));
}

}  // namespace

std::string words_of_progress(double seconds, const Goal& goal, std::uint64_t done, const char* unit) {
  std::string words = format("%.0f s", seconds);
  if (goal.parts == 0 && goal.time_ns > 0) words += format(" of %.0f s", seconds_of(goal.time_ns));
  words += ", " + count_in_words(done);
  if (goal.parts > 0) words += " of " + count_in_words(goal.parts);
  return words + " " + unit;
}

ProgressLine::ProgressLine()
    : due_ns_(::isatty(STDERR_FILENO) == 1 ? exs::monotonic_ns() + 2 * kNsPerSecond : UINT64_MAX) {}

void ProgressLine::print(std::uint64_t at_ns, const std::string& words) {
  due_ns_ = at_ns + kNsPerSecond;
  is_printed_ = true;
  std::fprintf(stderr, "\r%s\033[K", words.c_str());
}

void ProgressLine::clear() {
  if (is_printed_) std::fputs("\r\033[K", stderr);
  is_printed_ = false;
}

void ProgressLine::begin(const std::string& subject, const char* unit, const Goal& goal) {
  subject_ = subject.empty() ? "" : subject + ": ";
  unit_ = unit;
  goal_ = goal;
  begun_ns_ = exs::monotonic_ns();
}

void ProgressLine::print_parts(std::uint64_t done, std::uint64_t at_ns) {
  EXS_DEBUG_CHECK(at_ns >= begun_ns_);
  print(at_ns, subject_ + words_of_progress(seconds_of(at_ns - begun_ns_), goal_, done, unit_));
}

}  // namespace tools
