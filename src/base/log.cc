#include "src/base/log.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace exs {
namespace {

constexpr std::size_t kLineBytesMax = 512;

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

void write_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept try {
  const auto spd_level = to_spdlog(level);
  if (!logger().should_log(spd_level)) return;
  std::array<char, kLineBytesMax> line;
  const auto end = fmt::vformat_to_n(line.begin(), line.size(), format, arguments);
  logger().log(spd_level, spdlog::string_view_t(line.data(), std::min(end.size, line.size())));
} catch (...) {
  // A line that cannot be written is lost; what it tells of goes on.
}

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "exs: internal check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace exs
