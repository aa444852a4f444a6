// SIGINT and SIGTERM. A client finishes what is under way and reports it; a second signal ends it at once.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace tools {

void catch_interrupts();
bool interrupted();

// For a child process that its parent ends: SIGINT, which a terminal sends to both, does nothing, and SIGTERM ends it.
void leave_interrupts_to_parent();

}  // namespace tools
