// What every JSON object of results begins with: which program, where and when.
#pragma once

#include <string>

#include "tools/common/json.h"

namespace tools {

// "schema" goes up when a key goes or changes its meaning, not when one comes.
Json::Object begin_results(const std::string& tool);

}  // namespace tools
