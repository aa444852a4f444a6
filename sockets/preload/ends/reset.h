// Ends a connection on which the layer cannot go on and must not guess.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// The peer gets a reset, and the kernel answers the program's next call with ECONNRESET. The peer's segment
// is not read again. Thread: any.
void reset_connection(FamilySlot& slot, int number, const char* cause) noexcept;

// Completes a reset that another thread has begun. A call that goes to the kernel because the lane is gone
// comes here first. Otherwise it could take bells for bytes, or bytes from behind lost ones.
void finish_reset(FamilySlot& slot, int number) noexcept;

// The layer has reset this connection.
bool was_reset(const FamilySlot& slot) noexcept;

}  // namespace exs::sockets
