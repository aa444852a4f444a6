// The limit of descriptors of this process.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace tools {

// Raises the soft limit to the hard limit, and returns it.
std::uint64_t raise_descriptor_limit();

}  // namespace tools
