// The providers of this build, by name. The only place that knows them all.
#pragma once

#include <string_view>

#include "src/provider/provider.h"

namespace exs {

// "auto" or a provider's name. ENOTSUP: no such provider in this build (or not yet). Made on first use, never
// destroyed. Thread: any.
Result<Provider*> find_provider(std::string_view name);
// Comma separated.
std::string_view provider_names() noexcept;

}  // namespace exs
