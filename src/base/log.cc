#include "src/base/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "src/base/clock.h"
#include "src/base/kernel.h"
#include "src/base/log_limit.h"

namespace exs {
namespace {

constexpr std::size_t kLineBytesMax = 512;

// Standard error. Thread: one at a time.
class StandardError final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // Lines that it did not take.
  std::uint64_t lost = 0;

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const auto bytes = static_cast<ssize_t>(line.size());
    if (kernel::write_at_once(STDERR_FILENO, line.data(), line.size()) != bytes) ++lost;
  }
  void flush_() override {}
};

struct Log {
  std::mutex mutex;
  std::shared_ptr<StandardError> output = std::make_shared<StandardError>();
  spdlog::logger logger{"exs", output};
  LogLimit limit;

  Log() {
    logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    const char* wish = std::getenv("EXS_LOG");
    const std::string wanted = wish == nullptr ? "warn" : wish;
    const auto level = spdlog::level::from_str(wanted);  // off for what it does not know
    const bool known = level != spdlog::level::off || wanted == "off";
    logger.set_level(known ? level : spdlog::level::warn);
    if (!known) logger.warn("EXS_LOG={}: give off, error, warn, info or debug; warn it is", wanted);
  }

  void tell(const LogLimit::LeftOut& left_out) {
    if (left_out.lines > 0) logger.warn("{} more lines were left out: {}", left_out.lines, left_out.cause);
  }
  void tell_lost() {
    const std::uint64_t before = std::exchange(output->lost, 0);
    if (before == 0) return;
    logger.warn("{} lines are lost: standard error did not take them at once", before);
    if (output->lost > 0) output->lost = before;
  }
};

std::atomic<Log*> g_log{nullptr};  // made by the first line
Log* g_held = nullptr;             // by who forks

// Made by the first line written, never destroyed: engine threads may log while the process exits.
Log& the_log() {
  static Log* const instance = [] {
    auto* const made = new Log;
    g_log = made;
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

bool is_limited(LogLevel level) {
  return level == LogLevel::kWarn || level == LogLevel::kError;
}

}  // namespace

void write_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept try {
  Log& log = the_log();
  const auto spd_level = to_spdlog(level);
  if (!log.logger.should_log(spd_level)) return;
  std::array<char, kLineBytesMax> line;
  const auto end = fmt::vformat_to_n(line.begin(), line.size(), format, arguments);
  const std::lock_guard guard(log.mutex);
  LogLimit::LeftOut before;
  if (is_limited(level) && !log.limit.admit({format.data(), format.size()}, monotonic_ns(), before)) return;
  log.tell_lost();
  log.tell(before);
  log.logger.log(spd_level, spdlog::string_view_t(line.data(), std::min(end.size, line.size())));
} catch (...) {
  // A line that cannot be written is lost; what it tells of goes on.
}

void tell_left_out() noexcept try {
  Log* const log = g_log;
  if (log == nullptr) return;
  const std::lock_guard guard(log->mutex);
  for (const LogLimit::LeftOut& left_out : log->limit.clear()) log->tell(left_out);
} catch (...) {
  // As above.
}

void lock_log() noexcept {
  g_held = g_log;
  if (g_held != nullptr) g_held->mutex.lock();
}

void unlock_log() noexcept {
  if (g_held != nullptr) g_held->mutex.unlock();
}

void check_failed(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr, "exs: internal check failed: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace exs
