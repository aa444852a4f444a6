// The rules of this process: those of sockets.conf, overridden by the environment. Thread: any, after the
// constructor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/settings/policy.h"

namespace exs::sockets {

const Policy& rules() noexcept;
// Called once, at the start.
void read_rules(const Environment& environment) noexcept;

}  // namespace exs::sockets
