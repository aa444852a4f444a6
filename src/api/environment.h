// What exs_init makes of the environment.
#pragma once

#include <cstddef>

#include "src/base/status.h"

namespace exs {

inline constexpr std::size_t kShardsMax = 64;

// EINVAL: a variable of exs has a value that means nothing; which one and what it may say is told. EXS_PROVIDER is not
// looked at: choice_of() does that.
Status check_environment();
// Logs once in the life of the process which variables are misspelt, unless exs-run has started the process in a job and has told
// so itself.
void tell_unknown_settings();
// EXS_SHARDS, of a checked environment.
std::size_t wished_shards();

}  // namespace exs
