// The message by which the called end of a connection hands a segment to the caller. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "sockets/settings/why.h"

namespace exs::sockets {

// kNone: it has been sent.
Why send_offer(int to, int memfd) noexcept;
// kNone: `memfd` is the peer's descriptor, which may be anything.
Why receive_offer(int from, int& memfd) noexcept;

}  // namespace exs::sockets
