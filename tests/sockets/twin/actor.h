// The process that makes the calls: this program with --actor, so that a library is preloaded into it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace twin {

// `control`: the descriptor for commands. `child_control`: the one for a child's commands, -1 once a child
// had it. Returns the exit status after the controller has closed its end.
int run_actor(int control, int child_control);

}  // namespace twin
