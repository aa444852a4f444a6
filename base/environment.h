// Environment variables. exs_init refuses a value without meaning (src/api/environment.h), so later readers
// may take such a value for the default.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string_view>

namespace exs {

inline constexpr std::string_view kSwitchWords = "1, yes, on or true, or 0, no, off or false";
// Parses "1", "yes" and the like. nullopt: the word is not in kSwitchWords.
std::optional<bool> switch_named(std::string_view word) noexcept;
// What getenv() returns: a variable that is empty counts as unset.
inline const char* unless_empty(const char* value) noexcept {
  return value != nullptr && *value != '\0' ? value : nullptr;
}
// A variable that says yes or no. `otherwise`: it is unset, empty, or means nothing.
bool switch_from_environment(const char* name, bool otherwise) noexcept;

}  // namespace exs
