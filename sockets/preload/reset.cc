#include "sockets/preload/reset.h"

#include <sys/socket.h>

#include "sockets/preload/identity.h"
#include "sockets/preload/log_line.h"
#include "sockets/preload/raw.h"

namespace exs::sockets {
namespace {

void tell_kernel(Slot& slot, int number) noexcept {
  const sockaddr none{AF_UNSPEC, {}};
  raw::sys(SYS_connect, number, &none, sizeof none);
  // Says that there is no connection, and ends both ways all the same, as a reset by the peer does.
  raw::sys(SYS_shutdown, number, SHUT_RDWR);
  slot.is_being_reset.store(false);
}

}  // namespace

void reset_connection(Slot& slot, int number, const char* cause) noexcept {
  // Before the kernel is told: a connection that this number makes next has no ring.
  slot.why.store(Why::kReset);
  slot.end_seen = true;
  slot.is_being_reset.store(true);  // before anybody finds that the lane is no more
  slot.stage.store(Stage::kPlain);
  slot.receives_in_lane.store(false);
  log_line("socket %d is reset: %s", number, cause);
  // Else a call of the program has done it, and the number may be another's by now.
  if (slot.is_being_reset.load()) tell_kernel(slot, number);
}

void finish_reset(Slot& slot, int number) noexcept {
  if (slot.is_being_reset.load() && inode_of(number) == slot.inode) tell_kernel(slot, number);
}

bool was_reset(const Slot& slot) noexcept {
  return slot.stage.load() == Stage::kPlain && slot.why.load() == Why::kReset && slot.end_seen;
}

}  // namespace exs::sockets
