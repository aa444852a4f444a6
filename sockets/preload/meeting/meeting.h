// The meeting: two preloaded ends of a connection find one another by abstract Unix sockets. Their names are
// made of the connection's addresses. Thread: any.
//
// Design notes
// 1. A caller whose peer listens here, under the mark of listener_mark.h, leaves its card: a listening socket
//    named by its connection. The called end finds the card and offers a segment. The caller takes the offer
//    in one of its next calls, and joins.
// 2. Names are hints. The users of both ends must allow each other. Each end's TCP connection must be
//    established, in the network namespace of the Unix socket. Bytes that an end sends by TCP must arrive at
//    the other end (arrivals.h).
// 3. The TCP connection's descriptor is never passed. A descriptor in transit would keep the connection open
//    after a kill.
// 4. No call waits for the other end. An end without an answer gives up after five seconds. After 64 calls
//    only some calls look for the answer.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "sockets/preload/table/slot.h"

namespace exs::sockets {

// Takes the next step of the meeting, if there is one. Each call of the program on a connection outside the
// lane begins with this.
void meet(int number, std::uint32_t slot) noexcept;
// Applies the rule about the connection, if it has a peer already. meet() does so in the first call; a connection
// without a call needs it for its last line.
void apply_rule(int number, std::uint32_t slot) noexcept;
// Closes the socket of the meeting, if there is one.
void end_meeting(std::uint32_t slot) noexcept;

}  // namespace exs::sockets
