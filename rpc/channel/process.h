// Whether this process started exs: a child of fork() has none of its parent's connections. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "base/status.h"

namespace exs::rpc {

// Starts exs once for the process. EOPNOTSUPP: this is a child, and libexs belongs to its parent.
Status start_library() noexcept;
// Returns false also before start_library(). Makes no system call.
bool is_own_process() noexcept;

// Returns true while less than four fifths of the allowed descriptors are in use: the rest is for the program.
bool has_descriptors() noexcept;

}  // namespace exs::rpc
