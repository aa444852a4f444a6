// What a simulation changes for the library: the time of its shards, and a line at the end.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "event/engine/sleeper.h"

namespace exs {

// The simulated time, if EXS_PROVIDER asks for it, else the real one. Thread: any, after choose_providers().
[[nodiscard]] TimeSource time_of_process();
[[nodiscard]] bool simulates_time() noexcept;
// Logs what happened, if the settings of a simulation ask for it.
void report_simulation();

}  // namespace exs
