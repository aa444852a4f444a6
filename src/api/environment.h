// The environment variables that exs_init checks.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

#include "base/status.h"
#include "event/engine/shard.h"

namespace exs {

// EINVAL: a variable of exs has an invalid value. The refusal names it and the valid values. Does not check
// EXS_PROVIDER; choice_of() does that.
Status check_environment();
// Logs misspelt variables once in the life of the process. In a job of exs-run, which has logged them itself,
// it does nothing.
void tell_unknown_settings();
// EXS_SHARDS, of a checked environment.
std::size_t wished_shards();

}  // namespace exs
