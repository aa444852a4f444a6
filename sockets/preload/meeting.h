// How the two ends of a connection find one another, if both are preloaded: by names in the abstract space of Unix sockets, which
// are made of the connection's addresses. Thread: any.
//
// Design notes
// 1. A caller whose peer listens here, under a name that says so, leaves its card: a listening socket named by its
//    connection. The called end finds it, and offers a segment. The caller takes it in one of its next calls, and joins.
// 2. Names are hints. Both ends must be of users that allow each other, and have their TCP connection established in the network
//    namespace of the Unix socket, and what each sends by TCP must arrive at the other one (arrivals.h).
// 3. No descriptor of the TCP connection is ever passed: one under way keeps the connection open after a kill.
// 4. No call waits for the other end, and whoever is not answered within five seconds gives up; of more than 64 calls only some
//    look for the answer.
#pragma once

#include <cstdint>

#include "sockets/preload/slot.h"

namespace exs::sockets {

// A step of the meeting, if there is one to take: each call of the program on a connection that is not in the lane begins with it.
void meet(int number, std::uint32_t slot) noexcept;
// The socket of the meeting, if there is one, is closed.
void end_meeting(std::uint32_t slot) noexcept;

}  // namespace exs::sockets
