// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/log_line.h"

#include <atomic>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>

#include "base/clock.h"
#include "sockets/preload/kernel/standard_error.h"

namespace exs::sockets {
namespace {

constexpr std::size_t kLineMax = 512;

void say(const char* format, va_list arguments) noexcept {
  char line[kLineMax];
  const int begun = std::snprintf(line, sizeof line, "exs-sockets: ");
  const int told =
      std::vsnprintf(line + begun, sizeof line - static_cast<std::size_t>(begun) - 1, format, arguments);
  std::size_t length = static_cast<std::size_t>(begun) + static_cast<std::size_t>(told < 0 ? 0 : told);
  if (length > sizeof line - 2) length = sizeof line - 2;
  line[length++] = '\n';
  write_to_standard_error(line, length);
}

// The recent lines of one format.
struct LineWindow {
  std::atomic<const char*> format;
  std::atomic<std::uint64_t> begun_ns;
  std::atomic<std::uint32_t> lines;
  std::atomic<std::uint32_t> left_out;
};
constexpr std::size_t kFormats = 16;  // more than there are
constinit LineWindow windows[kFormats];

LineWindow& window_of(const char* format) noexcept {
  for (LineWindow& window : windows) {
    const char* none = nullptr;
    if (window.format.load() == format || window.format.compare_exchange_strong(none, format) ||
        none == format)
      return window;
  }
  return windows[kFormats - 1];
}

// Two threads at the start of a window may write one line too many.
bool may_say(LineWindow& window, std::uint32_t& left_out) noexcept {
  constexpr std::uint64_t kWindowNs = 10 * kNsPerSecond;
  constexpr std::uint32_t kLines = 8;
  const std::uint64_t now = monotonic_ns();
  std::uint64_t begun = window.begun_ns.load();
  if ((begun == 0 || now - begun >= kWindowNs) && window.begun_ns.compare_exchange_strong(begun, now)) {
    window.lines.store(0);
    left_out = window.left_out.exchange(0);
  }
  if (window.lines.fetch_add(1) < kLines) return true;
  window.left_out.fetch_add(1);
  return false;
}

}  // namespace

void tell_line(const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

void log_line(const char* format, ...) noexcept {
  std::uint32_t left_out = 0;
  if (!may_say(window_of(format), left_out)) return;
  if (left_out > 0) tell_line("%u more lines like the next one were left out", left_out);
  va_list arguments;
  va_start(arguments, format);
  say(format, arguments);
  va_end(arguments);
}

}  // namespace exs::sockets
