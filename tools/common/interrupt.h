// SIGINT and SIGTERM. A client finishes what is under way and reports it; a second signal ends it at once.
#pragma once

namespace tools {

void catch_interrupts();
bool interrupted();

}  // namespace tools
