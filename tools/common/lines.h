// Lines of programs that serve others. A reader that does not read can neither block nor end such a program.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "base/log_limit.h"

namespace tools {

// Writes a line to the descriptor at once or not at all, and without a SIGPIPE. `line` has no newline.
void tell(int descriptor, std::string line) noexcept;

// Writes to standard error the lines that `limit` admits for a repeated cause. A count of lines left out before precedes this one.
void tell_limited(exs::LogLimit& limit, std::string_view cause, const std::string& line) noexcept;

// Opens standard streams that the program was started without. Otherwise another file would get their number, and the lines.
void hold_standard_streams() noexcept;

}  // namespace tools
