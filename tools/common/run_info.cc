// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/run_info.h"

#include <exs/exs.h>
#include <sys/utsname.h>

#include <array>
#include <ctime>

namespace tools {
namespace {

constexpr int kSchema = 1;

// Returns the current time in UTC, in ISO 8601 format.
std::string date() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text.data();
}

}  // namespace

Json::Object begin_results(const std::string& tool) {
  utsname system{};
  uname(&system);
  return {{"tool", tool},
          {"version", exs_version_string()},
          {"schema", kSchema},
          {"host", system.nodename},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"date", date()}};
}

}  // namespace tools
