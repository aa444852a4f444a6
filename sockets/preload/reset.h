// The end of a connection on which the layer cannot go on, and must not guess.
#pragma once

#include "sockets/preload/slot.h"

namespace exs::sockets {

// Of whatever kind its socket is, it is nobody's connection any more: the peer gets a reset, and the program's next call
// ECONNRESET, from the kernel. Nothing of the peer's segment is read from now on. Thread: any.
void reset_connection(Slot& slot, int number, const char* cause) noexcept;

// Another thread may be at it, between the two. Whoever goes to the kernel because the lane is no more comes here first: the socket
// may still have bells, which are no bytes of the program's, and take bytes that would come behind some that are lost.
void finish_reset(Slot& slot, int number) noexcept;

// And the number can be made another connection only after it has been told to end this one.
bool was_reset(const Slot& slot) noexcept;

}  // namespace exs::sockets
