// Dates for people and programs.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <ctime>
#include <string>

namespace tools {

// In UTC, as ISO 8601: "2026-01-31T23:59:59Z".
std::string date_of(std::time_t seconds);

}  // namespace tools
