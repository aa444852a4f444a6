// The message by which the called end of a connection hands the caller a segment. Thread: any.
#pragma once

#include "sockets/settings/why.h"

namespace exs::sockets {

// kNone: it is on its way.
Why send_offer(int to, int memfd) noexcept;
// kNone: `memfd` is a descriptor of the peer's, which may be anything.
Why receive_offer(int from, int& memfd) noexcept;

}  // namespace exs::sockets
