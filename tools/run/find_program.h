#pragma once

#include <string>

namespace run {

// As execvp() looks for it; empty: nowhere.
std::string find_program(const std::string& name);

}  // namespace run
