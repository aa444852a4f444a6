#include "sockets/preload/reset.h"

#include <sys/socket.h>

#include "sockets/preload/raw.h"
#include "sockets/preload/runtime.h"

namespace exs::sockets {

void reset_connection(Slot& slot, int number, const char* cause) noexcept {
  // Before the kernel is told: a connection that this number makes next has no ring.
  slot.why.store(Why::kBroken);
  slot.stage.store(Stage::kPlain);
  slot.receives_in_lane.store(false);
  slot.end_seen = true;
  log_line("socket %d is reset: %s", number, cause);
  const sockaddr none{AF_UNSPEC, {}};
  raw::sys(SYS_connect, number, &none, sizeof none);
  // Says that there is no connection, and ends both ways all the same, as a reset by the peer does.
  raw::sys(SYS_shutdown, number, SHUT_RDWR);
}

bool was_reset(const Slot& slot) noexcept {
  return slot.stage.load() == Stage::kPlain && slot.why.load() == Why::kBroken && slot.end_seen;
}

}  // namespace exs::sockets
