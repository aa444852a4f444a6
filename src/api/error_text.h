// The text of the last call of a thread that failed: exs_errtext().
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "base/status.h"

namespace exs {

// The text of a fault becomes the caller's own. Other statuses stay.
Status with_kept_text(Status why) noexcept;

}  // namespace exs
