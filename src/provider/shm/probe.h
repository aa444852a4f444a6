// Tests whether process_vm_readv(2) and process_vm_writev(2) reach the peer's memory, by a trial.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include "src/provider/reason.h"
#include "src/provider/shm/control_packet.h"

namespace exs::shm {

// Offers memory of this process for the peer's trial: fills the greeting's nonce and addresses. The memory
// stays as long as the process lives, because a peer may be late.
Status offer_probe(ControlPacket& greeting);
// Tries it on the peer that sent the greeting. False: `why_not` has the reason.
bool probe_memory(pid_t peer, const ControlPacket& greeting, Reason& why_not);

}  // namespace exs::shm
