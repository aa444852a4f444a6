// Lines of programs that serve others: nobody who does not read them may hold these up, or end them.
#pragma once

#include <string>
#include <string_view>

#include "src/base/log_limit.h"

namespace tools {

// A line to that descriptor, at once or not at all, and without a SIGPIPE. The line has no newline.
void tell(int descriptor, std::string line) noexcept;

// The same to standard error, of a cause that may come again and again: what `limit` admits, after a line that counts what it left out.
void tell_limited(exs::LogLimit& limit, std::string_view cause, const std::string& line) noexcept;

// A program that was started without a standard stream opens nothing else by its number: lines would go there.
void hold_standard_streams() noexcept;

}  // namespace tools
