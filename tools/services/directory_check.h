// Whether the directory that this program is to ask can be reached: who is not found may be known there.
#pragma once

#include <string>

namespace services {

// Empty: it can, or there is none to ask.
std::string why_no_directory();

}  // namespace services
