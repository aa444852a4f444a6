// Writes one log line where an error is decided, to standard error or to a callback of exs_setlog().
// EXS_LOG=off|error|warn|info|debug chooses the level (default warn). No line waits: bytes that standard
// error does not take at once are lost, and counted. LogLimit lets only some warnings and errors with one
// cause through; the cause is the format. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "base/status.h"

namespace exs {

// Values are those of EXS_LOG_* in exs.h.
enum class LogLevel : int { kOff = 0, kError = 1, kWarn = 2, kInfo = 3, kDebug = 4 };

// "warn" and the like; empty: the default. Nothing: no level has that name.
std::optional<LogLevel> level_named(std::string_view name) noexcept;

// The arguments are formatted once, and only if the line is written.
void write_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept;
// The line is kept in any case, for text_of_fault().
Status write_fault(LogLevel level, int error, fmt::string_view format, fmt::format_args arguments) noexcept;

// Lines of this level are written at present. Callers can avoid making texts in vain.
bool is_logged(LogLevel level) noexcept;

template <typename... Arguments>
void log(LogLevel level, fmt::format_string<Arguments...> format, const Arguments&... arguments) noexcept {
  write_line(level, format, fmt::make_format_args(arguments...));
}
// `return fault(LogLevel::kWarn, EPROTO, "...", ...);` Logs an error that ends a call or a connection, and keeps the line
// for exs_errtext(), or the EXS_SO_ERROR_TEXT of a connection that ends with the returned status.
template <typename... Arguments>
Status fault(LogLevel level, int error, fmt::format_string<Arguments...> format,
             const Arguments&... arguments) noexcept {
  return write_fault(level, error, format, fmt::make_format_args(arguments...));
}
// Writes the line of a fault and returns its length. 0: the status has none, or many faults came since.
std::size_t text_of_fault(Status fault, std::span<char> room) noexcept;

using LogCallback = void (*)(int level, const char* line, void* context);
// Sends lines of this level and worse to the callback; null: to standard error. After the return the previous
// callback does not run any more.
void set_log(LogCallback callback, void* context, LogLevel level);

// Reports the number of lines of each cause that were left out. Each cause begins anew.
void tell_left_out() noexcept;

// A fork between the two leaves the child a free log.
void lock_log() noexcept;
void unlock_log() noexcept;

}  // namespace exs
