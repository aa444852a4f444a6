// SIGINT and SIGTERM. A client finishes what is under way and reports it; a second signal ends it at once.
#pragma once

namespace perf {

void catch_interrupts();
bool interrupted();

}  // namespace perf
