// The text of the last call of a thread that failed: exs_errtext().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/base/status.h"

namespace exs {

// Sets errno, and remembers for the thread what `function` failed with. `function` is a string that lives for ever.
void call_failed(const char* function, Status why) noexcept;

}  // namespace exs
