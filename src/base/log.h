// One log line where an error is decided. Written to standard error; EXS_LOG=off|error|warn|info|debug
// chooses the level (default warn). Thread: any.
#pragma once

namespace exs {

enum class LogLevel { kDebug, kInfo, kWarn, kError };

[[gnu::format(printf, 2, 3)]] void log(LogLevel level, const char* format, ...) noexcept;

// Prints what was expected and where, then aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace exs

// For our own bugs only. Bytes from a peer and arguments from a user never reach it.
#define EXS_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::exs::check_failed(#condition, __FILE__, __LINE__))
