// The beginning of every JSON object of results: which program, where and when.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/common/json.h"

namespace tools {

// "schema" increases when a key is removed or changes its meaning, not when one is added.
Json::Object begin_results(const std::string& tool);

}  // namespace tools
