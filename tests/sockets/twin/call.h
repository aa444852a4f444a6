// One call under test, made in an actor. Thread: any, one call at a time each.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/sockets/twin/protocol.h"

namespace twin {

Answer perform(const Command& command);

// One function for each family.
Answer perform_send(const Command& command);
Answer perform_recv(const Command& command);
Answer perform_fill(const Command& command);
Answer perform_drain(const Command& command);
Answer perform_file(const Command& command);  // sendfile, splice
Answer perform_stdio(const Command& command);
Answer perform_wait(const Command& command);   // poll, epoll, settle, flush
Answer perform_state(const Command& command);  // calls on a descriptor that move no bytes

// Makes an answer of `result` and errno, right after a call.
Answer answer_of(std::int64_t result);

}  // namespace twin
