// One log line where an error is decided. Written to standard error; EXS_LOG=off|error|warn|info|debug
// chooses the level (default warn). No line waits: what standard error does not take at once is lost, and counted. Of
// warnings and errors with one cause, which is the format, LogLimit lets some through. Thread: any.
#pragma once

#include <fmt/core.h>

namespace exs {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

// The arguments are formatted once, and only if the line is written.
void write_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept;

template <typename... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, const Arguments&... arguments) noexcept {
  write_line(level, format, fmt::make_format_args(arguments...));
}

// Tells how many lines of each cause were left out until now; each cause begins anew.
void tell_left_out() noexcept;

// A fork of the process between the two leaves the child a log that nobody holds.
void lock_log() noexcept;
void unlock_log() noexcept;

// Prints what was expected and where, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace exs

// For our own bugs only. Bytes from a peer and arguments from a user never reach it.
#define EXS_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::exs::check_failed(#condition, __FILE__, __LINE__))
