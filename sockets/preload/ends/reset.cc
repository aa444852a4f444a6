// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/ends/reset.h"

#include <sys/socket.h>

#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/log_line.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

void tell_kernel(FamilySlot& slot, int number) noexcept {
  const sockaddr none{AF_UNSPEC, {}};
  raw::sys(SYS_connect, number, &none, sizeof none);
  // Fails with ENOTCONN, but ends both ways, as a peer's reset does.
  raw::sys(SYS_shutdown, number, SHUT_RDWR);
  enter_state(slot.end, SlotEnd::kReset);
}

}  // namespace

void reset_connection(FamilySlot& slot, int number, const char* cause) noexcept {
  // The lane ends before the kernel resets: a connection that this number makes next has no ring.
  slot.why.store(Why::kReset);
  enter_state(slot.end, SlotEnd::kBeingReset);  // before another thread can see that the lane is gone
  enter_state(slot.stage, Stage::kPlain);
  leave_lane(slot);
  log_line("socket %d is reset: %s", number, cause);
  // If it is complete, a call of the program completed the reset, and the number may have a new meaning.
  if (slot.end.load() == SlotEnd::kBeingReset) tell_kernel(slot, number);
}

void finish_reset(FamilySlot& slot, int number) noexcept {
  if (slot.end.load() == SlotEnd::kBeingReset && inode_of(number) == slot.inode) tell_kernel(slot, number);
}

bool was_reset(const FamilySlot& slot) noexcept {
  return slot.stage.load() == Stage::kPlain && slot.end.load() >= SlotEnd::kBeingReset;
}

}  // namespace exs::sockets
