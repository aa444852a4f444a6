#include "src/base/log.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace exs {
namespace {

// Made by the first line written, never destroyed: engine threads may log while the process exits.
spdlog::logger& logger() {
  static spdlog::logger* const instance = [] {
    auto* made = new spdlog::logger("exs", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    const char* wish = std::getenv("EXS_LOG");
    const std::string wanted = wish == nullptr ? "warn" : wish;
    const auto level = spdlog::level::from_str(wanted);  // off for what it does not know
    const bool known = level != spdlog::level::off || wanted == "off";
    made->set_level(known ? level : spdlog::level::warn);
    if (!known) made->warn("EXS_LOG={}: give off, error, warn, info or debug; warn it is", wanted);
    return made;
  }();
  return *instance;
}

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
  }
  return spdlog::level::err;
}

}  // namespace

void log(LogLevel level, const char* format, ...) noexcept {
  const auto spd_level = to_spdlog(level);
  if (!logger().should_log(spd_level)) return;
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  logger().log(spd_level, "{}", static_cast<const char*>(line));
}

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "exs: internal check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace exs
