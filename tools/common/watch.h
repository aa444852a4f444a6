// --watch: shows something again each second, until SIGINT or SIGTERM.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

namespace tools {

// Calls `show`, which prints, each second. A terminal is cleared before; elsewhere a blank line follows each block. Returns the exit
// status 0 after the signal, which also ends the pause at once.
int watch(const std::function<void()>& show);

}  // namespace tools
