// The modes of a baseline: one of them, or all, one after the other.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/common/command_line.h"

namespace perf {

// The option --mode. Modes have a name and a summary.
template <typename Modes>
void add_mode_option(tools::CommandLine& line, const Modes& modes, std::string& chosen) {
  std::vector<std::string> names{"all"};
  std::string help = "all (default): one after the other";
  for (const auto& mode : modes) {
    names.emplace_back(mode.name);
    help += std::string("; ") + mode.name + ": " + mode.summary;
  }
  line.add("--mode", chosen, help).one_of(names);
}

template <typename Modes>
auto modes_named(const std::string& chosen, const Modes& modes) {
  std::vector<typename Modes::value_type> out;
  for (const auto& mode : modes) {
    if (chosen == "all" || chosen == mode.name) out.push_back(mode);
  }
  return out;
}

}  // namespace perf
