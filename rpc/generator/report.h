// The report on an interface: the layout of its types in messages, and its procedures with their hashes. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "rpc/generator/model.h"

namespace exs::generator {

// Returns a line for each type, member, arm and procedure.
std::string report(const IdlInterface& interface);

}  // namespace exs::generator
