// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/environment.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "base/environment.h"
#include "base/setting_names.h"
#include "src/boot/boot.h"
#include "src/log/log.h"
#include "src/provider/iwarp/settings.h"
#include "src/provider/shm/settings.h"

namespace exs {
namespace {

constexpr std::size_t kShardsDefaultMax = 4;

std::size_t shards_named(std::string_view word) {  // 0: no such number
  std::size_t shards = 0;
  const char* const end = word.data() + word.size();
  const auto parsed = std::from_chars(word.data(), end, shards);
  const bool means_a_number = parsed.ec == std::errc() && parsed.ptr == end;
  return means_a_number && shards <= kShardsMax ? shards : 0;
}

struct Variable {
  const char* name;
  bool (*means_something)(std::string_view word);
  std::string_view legal;
};

bool is_switch(std::string_view word) {
  return switch_named(word).has_value();
}

constexpr std::string_view kLevels = "off, error, warn, info or debug";
static_assert(kShardsMax == 64);

constexpr Variable kVariables[] = {
    {"EXS_SHARDS", [](std::string_view word) { return shards_named(word) != 0; }, "a number from 1 to 64"},
    {"EXS_LOG", [](std::string_view word) { return level_named(word).has_value(); }, kLevels},
    {"EXS_EXPLAIN", is_switch, kSwitchWords},
    {"EXS_IWARP_CRC", is_switch, kSwitchWords},
    {"EXS_IWARP_BACKEND",
     [](std::string_view word) { return iwarp::backend_named(word) != iwarp::BackendChoice::kUnknown; },
     "io_uring or epoll"},
    {"EXS_STATS", is_switch, kSwitchWords},
    {"EXS_SHM_PROCESS_VM", is_switch, kSwitchWords},
    {"EXS_SHM_USERS", [](std::string_view word) { return shm::AllowedUsers::parse(word).has_value(); },
     "a list with commas of same, any and user ids"},
};

}  // namespace

Status check_environment() {
  for (const Variable& variable : kVariables) {
    const char* const word = unless_empty(std::getenv(variable.name));
    if (word == nullptr || variable.means_something(word)) continue;
    return fault(LogLevel::kError, EINVAL, "{}={}: give {}, or leave it unset", variable.name, word,
                 variable.legal);
  }
  return Status();
}

void tell_unknown_settings() {
  static constinit std::atomic<bool> is_told{false};
  if (is_told.exchange(true) || boot::is_of_exs_run()) return;
  const std::string words = words_about_unknown_settings(environ);
  if (!words.empty()) log(LogLevel::kWarn, "{}", words);
}

std::size_t wished_shards() {
  const char* const wish = unless_empty(std::getenv("EXS_SHARDS"));
  if (wish != nullptr) return shards_named(wish);
  return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, kShardsDefaultMax);
}

}  // namespace exs
