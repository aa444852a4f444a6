// Whether the directory that this program should ask can be reached: it may know a service that was not found.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace services {

// Returns an empty text if it can be reached, or if none is configured.
std::string why_no_directory();

}  // namespace services
