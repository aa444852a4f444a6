// Finds a program in PATH.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace run {

// Searches as execvp() does; returns an empty text if there is none.
std::string find_program(const std::string& name);

}  // namespace run
