// The names of exs's environment variables, to find what a user has misspelt. Knows nothing but text: tools have it, too.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

namespace exs {

// The setting whose name differs least, "EXS_PROVIDER" for "EXS_PROVIDR".
std::string_view nearest_setting(std::string_view name) noexcept;
// Lists all variables that begin with EXS_ and that no part of exs reads, each with the nearest known name.
// Empty: there are none. `environment` as environ(7).
std::string words_about_unknown_settings(const char* const* environment);

}  // namespace exs
