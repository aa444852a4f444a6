// The providers of this build, by name. The only place that knows them all.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "src/provider/choice.h"
#include "src/provider/provider_set.h"

namespace exs::sim {
class SimProvider;
}

namespace exs {

// Those that choose_providers() chose. Made on first use, never destroyed. Thread: any.
ProviderSet& providers();
// Before the first port of a life of the library: `wish` is the value of EXS_PROVIDER. "sim:SETTINGS" begins a simulation, which
// is all that this process then has. Otherwise it has the real providers. Returns the choice for its sockets: what
// choice_of() takes. EINVAL: the settings mean nothing.
Result<std::string> choose_providers(std::string_view wish);
// Null: the process does not simulate.
[[nodiscard]] sim::SimProvider* simulation() noexcept;
// What a choice may name in this process.
[[nodiscard]] std::uint8_t all_choices() noexcept;
// Around a fork, so that they work in the child.
void lock_providers() noexcept;
void unlock_providers(ForkSide side) noexcept;
// Parses the text of EXS_SO_PROVIDER and EXS_PROVIDER. ENOTSUP: not a choice, or a provider that is not in
// this build; the text names it, and the available ones.
Result<Choice> choice_of(std::string_view text);
// Comma separated.
const std::string& provider_names();

}  // namespace exs
