// SPDX-License-Identifier: BSD-2-Clause
#include "base/log_limit.h"

#include <utility>

namespace exs {

bool LogLimit::admit(std::string_view cause, std::uint64_t now_ns, LeftOut& before) {
  before = {cause, 0};
  LimitWindow& window = windows_[cause];
  if (window.lines == 0 || now_ns - window.begun_ns >= kWindowNs) {
    before.lines = std::exchange(window.left_out, 0);
    window = {now_ns, 0, 0};
  }
  if (window.lines < kLinesAWindow) {
    ++window.lines;
    return true;
  }
  ++window.left_out;
  return false;
}

std::vector<LogLimit::LeftOut> LogLimit::clear() {
  std::vector<LeftOut> left_out;
  for (const auto& [cause, window] : windows_) {
    if (window.left_out > 0) left_out.push_back({cause, window.left_out});
  }
  windows_.clear();
  return left_out;
}

}  // namespace exs
