// Environment variables. exs_init refuses a value that means nothing (src/api/environment.h), so whoever reads one later
// may take such a value for the default.
#pragma once

#include <optional>
#include <string_view>

namespace exs {

inline constexpr std::string_view kSwitchWords = "1, yes, on or true, or 0, no, off or false";
// "1" and "yes" and the like. Nothing: the word is none of kSwitchWords.
std::optional<bool> switch_named(std::string_view word) noexcept;
// A variable that says yes or no. `otherwise`: it is unset, empty, or means nothing.
bool switch_from_environment(const char* name, bool otherwise) noexcept;

}  // namespace exs
