// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/run_info.h"

#include <exs/exs.h>
#include <sys/utsname.h>

#include <ctime>

#include "tools/common/date.h"

namespace tools {
namespace {

constexpr int kSchema = 1;

}  // namespace

Json::Object begin_results(const std::string& tool) {
  utsname system{};
  uname(&system);
  return {{"tool", tool},
          {"version", exs_version_string()},
          {"schema", kSchema},
          {"host", system.nodename},
          {"kernel", std::string(system.sysname) + " " + system.release},
          {"date", date_of(std::time(nullptr))}};
}

}  // namespace tools
