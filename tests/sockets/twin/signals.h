// Counts the signals of an actor.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace twin {

void count_signals();
// Sets whether SIGUSR1 restarts a call that it interrupts.
void set_restart(bool restart);

std::uint32_t pipe_signals();
std::uint32_t urgent_signals();
std::uint32_t user_signals();

}  // namespace twin
