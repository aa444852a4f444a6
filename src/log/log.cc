// SPDX-License-Identifier: BSD-2-Clause
#include "src/log/log.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <string_view>
#include <utility>

#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include "base/clock.h"
#include "base/drive_lock.h"
#include "base/kernel.h"
#include "base/lazy.h"
#include "base/log_limit.h"

namespace exs {
namespace {

constexpr std::size_t kLineBytesMax = 512;

constexpr std::size_t kFaultsKept = 32;
constexpr LogLevel kDefaultLevel = LogLevel::kWarn;

// Standard error, or a callback. Thread: one at a time.
class Output final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  // Lines that standard error did not take.
  std::uint64_t lost = 0;

  void set(LogCallback callback, void* context) {
    callback_ = callback;
    context_ = context;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (callback_ != nullptr) return call_back(message);
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    const auto bytes = static_cast<ssize_t>(line.size());
    if (kernel::write_at_once(STDERR_FILENO, line.data(), line.size()) != bytes) ++lost;
  }
  void call_back(const spdlog::details::log_msg& message) {
    std::array<char, kLineBytesMax + 1> line;
    line[message.payload.size() < kLineBytesMax ? message.payload.size() : kLineBytesMax] = '\0';
    std::copy_n(message.payload.begin(), std::min(message.payload.size(), kLineBytesMax), line.begin());
    callback_(kLevelMax - static_cast<int>(message.level), line.data(), context_);
  }
  void flush_() override {}

  static constexpr int kLevelMax =
      static_cast<int>(LogLevel::kDebug) + static_cast<int>(spdlog::level::debug);
  LogCallback callback_ = nullptr;
  void* context_ = nullptr;
};

spdlog::level::level_enum to_spdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::err;
}

// The lines of the last faults, by their numbers.
class KeptFaults {
 public:
  std::uint32_t keep(std::string_view line) {
    do {
      last_ += 2;
    } while (last_ == 0);
    Kept& place = place_of(last_);
    place.number = last_;
    place.length = line.copy(place.text.data(), place.text.size());
    return last_;
  }
  std::size_t copy(std::uint32_t number, std::span<char> room) {
    const Kept& place = place_of(number);
    if (number == 0 || place.number != number) return 0;
    return std::string_view(place.text.data(), place.length).copy(room.data(), room.size());
  }

 private:
  struct Kept {
    std::uint32_t number = 0;
    std::size_t length = 0;
    std::array<char, kLineBytesMax> text;
  };
  Kept& place_of(std::uint32_t number) { return kept_[number / 2 % kFaultsKept]; }

  std::uint32_t last_ = 0;
  std::array<Kept, kFaultsKept> kept_;
};

// Guarded by g_mutex, but for the level.
struct Log {
  std::shared_ptr<Output> output = std::make_shared<Output>();
  spdlog::logger logger{"exs", output};
  LogLimit limit;
  KeptFaults faults;

  Log() {
    logger.set_pattern("%Y-%m-%d %H:%M:%S.%e %n %l: %v");
    const char* const wish = std::getenv("EXS_LOG");
    logger.set_level(to_spdlog(level_named(wish == nullptr ? "" : wish).value_or(kDefaultLevel)));
  }

  void write(LogLevel level, fmt::string_view format, std::string_view line) {
    LogLimit::LeftOut before;
    if (is_limited(level) && !limit.admit({format.data(), format.size()}, monotonic_ns(), before)) return;
    tell_lost();
    tell(before);
    logger.log(to_spdlog(level), spdlog::string_view_t(line.data(), line.size()));
  }
  void tell(const LogLimit::LeftOut& left_out) {
    if (left_out.lines > 0) logger.warn("{} more lines were left out: {}", left_out.lines, left_out.cause);
  }

 private:
  static bool is_limited(LogLevel level) { return level == LogLevel::kWarn || level == LogLevel::kError; }
  void tell_lost() {
    const std::uint64_t before = std::exchange(output->lost, 0);
    if (before == 0) return;
    logger.warn("{} lines are lost: standard error did not take them at once", before);
    if (output->lost > 0) output->lost = before;
  }
};

constinit Mutex g_mutex;    // of the log, also before the log exists
constinit Lazy<Log> g_log;  // made by the first line

using Line = std::array<char, kLineBytesMax>;

std::string_view formatted(Line& room, fmt::string_view format, fmt::format_args arguments) {
  const auto made = fmt::vformat_to_n(room.begin(), room.size(), format, arguments);
  return {room.data(), std::min(made.size, room.size())};
}

}  // namespace

std::optional<LogLevel> level_named(std::string_view name) noexcept {
  if (name.empty()) return kDefaultLevel;
  constexpr std::string_view kNames[] = {"off", "error", "warn", "info", "debug"};
  const auto* const found = std::find(std::begin(kNames), std::end(kNames), name);
  if (found == std::end(kNames)) return std::nullopt;
  return static_cast<LogLevel>(found - std::begin(kNames));
}

bool is_logged(LogLevel level) noexcept try {
  return g_log.get().logger.should_log(to_spdlog(level));
} catch (...) {
  return false;
}

void write_line(LogLevel level, fmt::string_view format, fmt::format_args arguments) noexcept try {
  Log& log = g_log.get();
  if (!log.logger.should_log(to_spdlog(level))) return;
  Line room;
  const std::string_view line = formatted(room, format, arguments);
  const LockGuard guard(g_mutex);
  log.write(level, format, line);
} catch (...) {
  // A line that cannot be written is lost; its subject goes on.
}

Status write_fault(LogLevel level, int error, fmt::string_view format, fmt::format_args arguments) noexcept
    try {
  Log& log = g_log.get();
  Line room;
  const std::string_view line = formatted(room, format, arguments);
  const LockGuard guard(g_mutex);
  const Status kept(error, log.faults.keep(line));
  if (log.logger.should_log(to_spdlog(level))) log.write(level, format, line);
  return kept;
} catch (...) {
  return Status(error);
}

std::size_t text_of_fault(Status fault, std::span<char> room) noexcept {
  Log* const log = g_log.made();
  if (log == nullptr) return 0;
  const LockGuard guard(g_mutex);
  return log->faults.copy(fault.sentence(), room);
}

void set_log(LogCallback callback, void* context, LogLevel level) {
  Log& log = g_log.get();
  const LockGuard guard(g_mutex);
  log.output->set(callback, context);
  log.logger.set_level(to_spdlog(level));
}

void tell_left_out() noexcept try {
  Log* const log = g_log.made();
  if (log == nullptr) return;
  const LockGuard guard(g_mutex);
  for (const LogLimit::LeftOut& left_out : log->limit.clear()) log->tell(left_out);
} catch (...) {
  // As above.
}

void lock_log() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  g_mutex.lock();
}

void unlock_log() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  g_mutex.unlock();
}

}  // namespace exs
