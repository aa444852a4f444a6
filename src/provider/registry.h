// The providers of this build, by name. The only place that knows them all.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "src/provider/choice.h"
#include "src/provider/provider_set.h"

namespace exs {

// Made on first use, never destroyed. Thread: any.
ProviderSet& providers();
// Around a fork, so that they work in the child.
void lock_providers() noexcept;
void unlock_providers(ForkSide side) noexcept;
// Parses the text of EXS_SO_PROVIDER and EXS_PROVIDER. ENOTSUP: not a choice, or a provider that is not in
// this build; the text names it, and the available ones.
Result<Choice> choice_of(std::string_view text);
// Comma separated.
const std::string& provider_names();

}  // namespace exs
