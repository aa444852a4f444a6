// SPDX-License-Identifier: BSD-2-Clause
#include "base/setting_names.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace exs {
namespace {

constexpr std::string_view kPrefix = "EXS_";

// tests/house/interface.py compares them with what the code reads.
constexpr std::string_view kSettings[] = {
    "EXS_EXPLAIN",       "EXS_IWARP_BACKEND", "EXS_IWARP_CRC",      "EXS_LOG",           "EXS_PROVIDER",
    "EXS_RUN_RSH",       "EXS_RUN_SILENCE",   "EXS_SERVICES",       "EXS_SHARDS",        "EXS_SHM_PROCESS_VM",
    "EXS_SHM_USERS",     "EXS_SOCKETS",       "EXS_SOCKETS_CONF",   "EXS_STATS",         "EXS_SUNRPC",
    "EXS_SUNRPC_AFTER",  "EXS_SUNRPC_PORT",   "EXS_SUNRPC_VARIANT", "EXS_SVC_DIRECTORY", "EXS_SVC_LISTEN",
    "EXS_SVC_MULTICAST",
};

// Variables of exs's own builds and tests, which their processes inherit.
constexpr std::string_view kOfTests[] = {
    "EXS_BUILD",
    "EXS_CONFINED",
    "EXS_DIRECTORY",
    "EXS_FABRIC",
    "EXS_FALSE_SSH",
    "EXS_FALSE_SSH_NET",
    "EXS_HOSTILE_HOST",
    "EXS_INTERRUPTIONS",
    "EXS_JAVA_JARS",
    "EXS_JAVA_TESTS",
    "EXS_JOB_FLOOD",
    "EXS_JOB_MEMBER",
    "EXS_JOB_PEER_BYTES",
    "EXS_JOB_RANK",
    "EXS_JOB_SIZE",
    "EXS_LONG_SECONDS",
    "EXS_MPJRUN",
    "EXS_MPJ_CHECKS",
    "EXS_MPJ_DEVICE",
    "EXS_MPJ_KERNELS",
    "EXS_ODD",
    "EXS_PAST_LIBC",
    "EXS_RELATIVES",
    "EXS_RPC_PROGRAMS",
    "EXS_RPC_STUB_PEER",
    "EXS_RPC_WAYS",
    "EXS_SERVICE_ASKER",
    "EXS_SERVICE_EXAMPLE",
    "EXS_SERVICE_MOVER",
    "EXS_SERVICE_PEER",
    "EXS_SOCKETS_AGENT",
    "EXS_SOCKETS_LIBRARY",
    "EXS_SOURCE_FOLDER",
    "EXS_SRC",
    "EXS_SUNRPC_LIBRARY",
    "EXS_TOOLS",
};
constexpr std::string_view kOfTestsBegin[] = {"EXS_RIG_", "EXS_TEST_"};

constexpr std::size_t kNameBytesMax = 32;  // that are compared
constexpr std::size_t kShownBytesMax = 64;
constexpr std::size_t kToldMax = 4;

template <std::size_t kCount>
bool is_among(const std::string_view (&names)[kCount], std::string_view name) noexcept {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

bool is_unknown(std::string_view name) noexcept {
  if (!name.starts_with(kPrefix) || is_among(kSettings, name) || is_among(kOfTests, name)) return false;
  return std::none_of(std::begin(kOfTestsBegin), std::end(kOfTestsBegin),
                      [name](std::string_view begin) { return name.starts_with(begin); });
}

// How many letters have to be put in, taken away or replaced.
std::size_t difference(std::string_view one, std::string_view other) noexcept {
  one = one.substr(0, kNameBytesMax);
  other = other.substr(0, kNameBytesMax);
  std::array<std::size_t, kNameBytesMax + 1> row;
  for (std::size_t i = 0; i <= other.size(); ++i) row[i] = i;
  for (std::size_t i = 0; i < one.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < other.size(); ++j) {
      const std::size_t replaced = diagonal + (one[i] == other[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row[other.size()];
}

// A prefix counts as equal.
std::size_t distance(std::string_view name, std::string_view setting) noexcept {
  return setting.starts_with(name) ? 0 : difference(name, setting);
}

// Makes the name printable for a terminal.
std::string shown(std::string_view name) {
  std::string text(name.substr(0, kShownBytesMax));
  for (char& letter : text) {
    if (letter <= ' ' || letter > '~') letter = '?';
  }
  return text;
}

}  // namespace

std::string_view nearest_setting(std::string_view name) noexcept {
  return *std::min_element(std::begin(kSettings), std::end(kSettings),
                           [name](std::string_view one, std::string_view other) {
                             return distance(name, one) < distance(name, other);
                           });
}

std::string words_about_unknown_settings(const char* const* environment) {
  std::string words;
  std::size_t count = 0;
  for (const char* const* at = environment; at != nullptr && *at != nullptr; ++at) {
    const std::string_view entry(*at);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (!is_unknown(name) || ++count > kToldMax) continue;
    words += (words.empty() ? "" : "; ") + shown(name) +
             " is no setting of exs, and nothing reads it (the nearest is " +
             std::string(nearest_setting(name)) + ")";
  }
  if (count > kToldMax) words += "; and " + std::to_string(count - kToldMax) + " more";
  return words;
}

}  // namespace exs
