// What an interface comes to: the layout of its types in messages, and its procedures with their hashes. Thread: any.
#pragma once

#include <string>

#include "rpc/generator/model.h"

namespace exs::generator {

// A line for each type, member, arm and procedure.
std::string report(const Interface& interface);

}  // namespace exs::generator
