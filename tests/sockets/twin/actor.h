// A process that makes the calls: this program again, run with --actor, so that a library is preloaded into it.
#pragma once

namespace twin {

// `control`: the descriptor where commands come from; `child_control`: the one for a child, -1 after there was one. Returns
// the exit status, when the controller has closed its end.
int run_actor(int control, int child_control);

}  // namespace twin
