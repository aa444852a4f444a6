// The reports: text for people, one JSON object for programs.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "tools/explain/check_result.h"
#include "tools/explain/connection.h"

namespace explain {

struct Machine {
  std::vector<CheckResult> results;
  std::string providers;  // of this build, comma separated
};

// At least one provider of this build has all that it needs, so connections are possible.
bool is_usable(const Machine& machine);
void print(const Machine& machine, bool json);
// `target` is the user's spelling.
void print(const ConnectResult& connected, const std::string& target, bool json);

}  // namespace explain
