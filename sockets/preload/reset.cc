// SPDX-License-Identifier: BSD-2-Clause
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
  // Fails with ENOTCONN, but ends both ways, as a peer's reset does.
  raw::sys(SYS_shutdown, number, SHUT_RDWR);
  slot.is_being_reset.store(false);
}

}  // namespace

void reset_connection(Slot& slot, int number, const char* cause) noexcept {
  // The lane ends before the kernel resets: a connection that this number makes next has no ring.
  slot.why.store(Why::kReset);
  slot.end_seen = true;
  slot.is_being_reset.store(true);  // before another thread can see that the lane is gone
  slot.stage.store(Stage::kPlain);
  slot.receives_in_lane.store(false);
  log_line("socket %d is reset: %s", number, cause);
  // If it is clear, a call of the program completed the reset, and the number may have a new meaning.
  if (slot.is_being_reset.load()) tell_kernel(slot, number);
}

void finish_reset(Slot& slot, int number) noexcept {
  if (slot.is_being_reset.load() && inode_of(number) == slot.inode) tell_kernel(slot, number);
}

bool was_reset(const Slot& slot) noexcept {
  return slot.stage.load() == Stage::kPlain && slot.why.load() == Why::kReset && slot.end_seen;
}

}  // namespace exs::sockets
